"""SVG: data in, one drawing out. No script, no fonts, no clock: the same data are the same text."""
