"""Pictures of models, as matplotlib displays."""
