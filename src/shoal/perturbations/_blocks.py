"""Blocks of records that lie near each other, and near records within them: for tables too large to compare all."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Codes, Floats, Ints


def split_into_blocks(points: Floats, size: int, rng: np.random.Generator) -> list[Ints]:
    """Return blocks of at most twice so many records: cut at the median of the direction in which they spread most, of
    the features and of some random ones.

    Examples
    --------
    >>> [rows.tolist() for rows in split_into_blocks(np.arange(5.0)[:, None], 2, np.random.default_rng(0))]
    [[0, 1], [2, 3, 4]]
    """
    features = points.shape[1]
    directions = np.concatenate([np.eye(features), rng.normal(size=(3, features)) / np.sqrt(max(features, 1))])
    waiting, blocks = [np.arange(len(points))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) < 2 * size:
            blocks.append(rows)
            continue
        along = points[rows] @ directions.T
        order = np.argsort(along[:, int(np.argmax(along.std(axis=0)))], kind="stable")
        half = len(rows) // 2
        waiting += [np.sort(rows[order[half:]]), np.sort(rows[order[:half]])]
    return blocks


def list_near(points: Floats, blocks: list[Ints], many: int, rng: np.random.Generator) -> Codes:
    """Return for each record others that lie near it, nearest first: of its block, and of a block of another cut.

    So a record at the edge of a block has neighbours beyond it.
    """
    many = min(many, min(len(rows) for rows in blocks) - 1)
    if len(blocks) == 1:
        return _near_within(points, blocks, many)[0]
    turned = np.linalg.qr(rng.normal(size=(points.shape[1],) * 2))[0]
    others = split_into_blocks(np.ascontiguousarray(points @ turned), len(blocks[0]) // 2 + many + 1, rng)
    found = [_near_within(points, cut, many) for cut in (blocks, others)]
    near = np.concatenate([one for one, _ in found], axis=1)
    far = np.concatenate([one for _, one in found], axis=1)
    order = np.argsort(far, axis=1, kind="stable")[:, :many]
    return np.ascontiguousarray(np.take_along_axis(near, order, axis=1))


def _near_within(points: Floats, blocks: list[Ints], many: int) -> tuple[Codes, Floats]:
    from shoal.kernels.nearest_records import list_nearest

    near, far = np.empty((len(points), many), np.int32), np.empty((len(points), many))
    for rows in blocks:
        own, distances = np.empty((len(rows), many), np.int32), np.empty((len(rows), many))
        list_nearest(np.ascontiguousarray(points[rows]), own, distances)
        near[rows], far[rows] = rows[own], distances
    return near, far
