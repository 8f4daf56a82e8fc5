module example.com/tree
