"""Parts written in C++, compiled on the user's machine when they are first wanted; nothing needs them."""
