"""The whole job of giving labels to documents: settings, training, classifying, showing what was looked at."""
