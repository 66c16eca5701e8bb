"""Tables as people hand them over: reading files, kinds of columns, codes of categories."""
