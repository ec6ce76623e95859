"""The causes of breaks, a family a module: each looks at one part of two requests."""
