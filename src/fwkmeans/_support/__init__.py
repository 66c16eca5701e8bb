"""What every layer may use: files, text, threads, checks of numbers."""
