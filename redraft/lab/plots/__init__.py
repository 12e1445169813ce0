"""Charts of experiments, drawn as SVG by matplotlib."""
