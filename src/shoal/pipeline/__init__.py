"""THE ROAD: prepare → encode → solve → publish → verify → write; each stage once, for every engine."""
