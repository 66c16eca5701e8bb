"""What tests put beside blocks, and read from there."""

import numpy as np

from fwkmeans.typing import BlockReduction


class Put(BlockReduction):
    """Reduction that puts an array beside the blocks, cut along its axis of rows."""

    def __init__(self, name, values, axis):
        self.name, self.values, self.axis = name, values, axis

    def on_block(self, block, memory):
        here = np.arange(block.first_row, block.first_row + len(block.rows))
        return None, {**memory, self.name: np.take(self.values, here, axis=self.axis)}


def with_labels(source, labels):
    """Return the source with labels of shape (n_starts, n_rows) in row memory."""
    return source.run(Put("labels", np.asarray(labels, dtype=np.int32), 1))[1]


def labels_by(source, dissimilarity, assignment):
    """Return the labels of the only start, and the objective's part that depends on the rows."""
    (objective, _), labeled = source.run(dissimilarity.labeling(assignment))
    return labeled.gather("labels", axis=1)[0], objective


def distances_by(source, dissimilarity, assignment):
    """Return the distances of the rows to the centers of the only start."""
    return source.run(dissimilarity.distances(assignment))[1].gather("distances")
