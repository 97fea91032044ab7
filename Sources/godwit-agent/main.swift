print("see README.md")
