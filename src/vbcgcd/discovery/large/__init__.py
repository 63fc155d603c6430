"""A session of more rows than can be held and searched at once.

One pass over all rows notes how well the known categories explain each. A sample, drawn mainly where rows are
doubtful, is searched as an ordinary session is. The novel categories found there are then fitted to all rows,
which also shows what is still badly explained: among that the search goes on. In the end all rows are judged
and assigned, block by block.
"""
