"""Values as codes, tables as counted codes, labels and policies as text: what every layer above speaks."""
