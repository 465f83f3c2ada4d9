"""Values as codes, labels and policies as text, and the types that every layer speaks."""
