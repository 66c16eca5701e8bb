"""Kernels for rows on a GPU, in Triton; nothing here is imported before such rows are given."""
