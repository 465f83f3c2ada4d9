"""Roll frequencies up to the nodes of a lattice: each node's table from a smaller one below it.

A table is rows of a packed *key* and a count. Every column has its own bits in the key, so that raising a column to
a level replaces these bits by the number of the label; rows whose keys become equal are added up. The last bits of the
key hold what does not roll up: the kind of a cell (its sensitive values and its person), and the first a mark for
records that a column shows above their boundary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.compiled import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_RAISE = "i8(u8[:,::1],i8[::1],i8,i8,u8[:,::1],i8[::1],i8,i4[::1],i8,u8,u8,i4[::1],b1[::1],u8,i4[::1])"
_ROLL = (
    "i8(i2[:,::1],i8,u8[:,::1],i8[::1],i8[::1],u8[::1],u8[::1],b1[::1],i8[:,::1],i4[::1],i4[::1],i8[:,::1],b1[::1],"
    "u8,u8[:,:,::1],i8[:,::1],i8[::1],i8[::1],i4[::1],u8[:,::1],i8[::1],i8[::1],i8[::1])"
)


def _raiser(name: str, narrow: bool) -> Any:
    """Compile for keys of one word, the usual case, or of several: a loop over words costs a third more time.

    Each has a name of its own: numba tells functions of one name apart by the order in which a process compiles them,
    so that what two processes have put into its cache would be taken for each other.
    """

    def raise_column(
        keys,  # [word, row]: the table below
        counts,  # [row]
        begin,  # its first row
        end,
        raised_keys,  # out [word, row]: the table above; may be the table below itself
        raised_counts,  # out [row]
        start,  # its first row
        slots,  # scratch: a power of two, at least four times the rows
        word,  # the word of the key that holds the column
        shift,  # the place of the column's bits in it
        mask,  # as many bits as the column has
        labels,  # [number]: the new number of each label
        beyond,  # [number]: whether the label is above a boundary
        mark,  # the bit that says so, in the first word; 0 where no column has boundaries
        members,  # out [row]: the row above that each row went into, where it is asked for: else empty
    ):
        """Give one column new labels and add up the rows that became equal; return where the rows above end."""
        words = 1 if narrow else keys.shape[0]
        wanted = len(members) > 0
        size, bits = np.int64(16), np.uint64(4)
        while size < 2 * (end - begin):
            size *= 2
            bits += np.uint64(1)
        slots[:size] = -1
        others = ~(mask << shift)
        down = np.uint64(64) - bits
        left = start
        for row in range(begin, end):
            number = (keys[word, row] >> shift) & mask
            changed = (keys[word, row] & others) | (np.uint64(labels[number]) << shift)
            first = keys[0, row] if word != 0 else changed
            if mark and beyond[number]:
                first |= mark
                if word == 0:
                    changed |= mark
            mixed = first * _GOLDEN
            for w in range(1, words):
                mixed = (mixed ^ (mixed >> np.uint64(32)) ^ (changed if w == word else keys[w, row])) * _GOLDEN
            slot = np.int64(mixed >> down)
            while True:
                found = slots[slot]
                if found < 0:
                    slots[slot] = left
                    raised_keys[0, left] = first
                    for w in range(1, words):
                        raised_keys[w, left] = changed if w == word else keys[w, row]
                    raised_counts[left] = counts[row]
                    if wanted:
                        members[row] = left
                    left += 1
                    break
                same = raised_keys[0, found] == first
                for w in range(1, words):
                    same &= raised_keys[w, found] == (changed if w == word else keys[w, row])
                if same:
                    raised_counts[found] += counts[row]
                    if wanted:
                        members[row] = found
                    break
                slot = (slot + 1) & (size - 1)
        return left

    raise_column.__name__ = raise_column.__qualname__ = name
    return kernel(_RAISE)(raise_column)


raise_narrow, raise_wide = _raiser("raise_narrow", True), _raiser("raise_wide", False)


@kernel("i8(i8[:,::1])")
def _count_most_labels(offsets):
    """Return how many labels a level of a column has at most."""
    most = 1
    for row in offsets:
        for level in range(len(row) - 1):
            most = max(most, row[level + 1] - row[level])
    return most


@kernel(_ROLL)
def roll_up(
    nodes,  # [node, place]: levels, sorted; places are columns in the order in which they are raised
    start,  # the first node to do
    keys,  # [word, row]: the table at the bottom
    counts,  # [row]
    words,  # [place]: the word that holds the column's bits
    shifts,  # [place]
    masks,  # [place]
    nested,  # [place]: whether a level can be rolled up from the level below
    offsets,  # [place, level + 1]: where the labels of a level start in firsts
    firsts,  # for each label one value that has it, and that no boundary keeps lower if there is such a value
    levels,  # all columns' [level, value] numbers of labels, flat
    level_offsets,  # [place, level]: where a level starts in levels
    beyond,  # like levels: whether the label is above the value's boundary
    mark,  # the bit of the first word for records above a boundary
    stack_keys,  # scratch [place, word, row]: the table after the raises up to a place
    stack_counts,  # scratch [place, row]
    stack_rows,  # scratch [place + 1]: their numbers of rows
    sources,  # scratch [place + 1]: the place whose table it is, -1 is the bottom
    slots,  # scratch: a power of two, at least four times the rows
    out_keys,  # out [word, row]: the tables of the nodes, one after the other
    out_counts,  # out [row]
    ends,  # out [node]: where each node's table ends
    at,  # [1]: the node whose tables are in scratch, -1 before the first call
):
    """Write the tables of as many nodes as fit, and return the node to go on with; scratch is kept for that."""
    indices = nodes.shape[1]
    most = _count_most_labels(offsets)
    labels = np.empty(most, np.int32)
    above = np.zeros(most, np.bool_)
    members = np.empty(0, np.int32)
    written = 0
    for node in range(start, len(nodes)):
        changed, last = 0, at[0]
        if last >= 0:
            while changed < indices and nodes[node, changed] == nodes[last, changed]:
                changed += 1
        for index in range(changed, indices):
            level = nodes[node, index]
            below = sources[index]
            if level == 0:
                sources[index + 1] = below
                stack_rows[index + 1] = stack_rows[index]
                continue
            rows, known = stack_rows[index], 0
            if last >= 0 and index == changed and nested[index] and 0 < nodes[last, index] < level:
                known = nodes[last, index]  # a level below is there, and smaller than the values
                below, rows = index, stack_rows[index + 1]
            begin = offsets[index, known]
            to = level_offsets[index, level]
            for label in range(offsets[index, known + 1] - begin):
                labels[label] = levels[to + firsts[begin + label]]
                above[label] = beyond[to + firsts[begin + label]]
            from_keys = keys if below < 0 else stack_keys[below]
            from_counts = counts if below < 0 else stack_counts[below]
            task = (
                from_keys, from_counts, 0, rows, stack_keys[index], stack_counts[index], 0, slots,
                words[index], shifts[index], masks[index], labels, above, mark, members,
            )  # fmt: skip
            stack_rows[index + 1] = raise_narrow(*task) if len(keys) == 1 else raise_wide(*task)
            sources[index + 1] = index
        at[0] = node
        rows = stack_rows[indices]
        if written + rows > len(out_counts):
            return node
        source = sources[indices]
        from_keys = keys if source < 0 else stack_keys[source]
        from_counts = counts if source < 0 else stack_counts[source]
        out_keys[:, written : written + rows] = from_keys[:, :rows]
        out_counts[written : written + rows] = from_counts[:rows]
        written += rows
        ends[node] = written
    return len(nodes)


_REGROUP = (
    "i8(i2[:,::1],i8,u8[:,::1],i8[::1],i8[::1],u8[::1],u8[::1],i4[::1],i8[:,::1],b1[::1],u8,u8[:,::1],i8[::1],"
    "i4[::1],u8[:,::1],i8[::1],i8[::1],i8[::1])"
)


@kernel(_REGROUP)
def regroup(
    nodes,  # [node, place]: levels
    start,  # the first node to do
    keys,  # [word, row]: the table at the bottom
    counts,  # [row]
    words,  # [place]: the word that holds the column's bits
    shifts,  # [place]
    masks,  # [place]
    levels,  # all columns' [level, value] numbers of labels, flat
    level_offsets,  # [place, level]: where a level starts in levels
    beyond,  # like levels: whether the label is above the value's boundary
    mark,  # the bit of the first word for records above a boundary
    shown,  # scratch [word, row]: the keys of the rows at the last node, at first a copy of the table's
    above,  # scratch [row]: how many columns show it above a boundary; zeros at first
    slots,  # scratch: a power of two, at least four times the rows
    out_keys,  # out [word, row]: the tables of the nodes, one after the other; room for two tables at least
    out_counts,  # out [row]
    ends,  # out [node]: where each node's table ends
    at,  # [1]: the node whose keys are in scratch, -1 before the first call
):
    """Write the tables of as many nodes as fit, each from the table at the bottom; return the node to go on with.

    A node that differs from the one before in few of many columns costs as much as these, and one grouping.
    """
    rows, many = len(counts), len(keys)
    size, bits = np.int64(16), np.uint64(4)
    while size < 2 * rows:
        size *= 2
        bits += np.uint64(1)
    down = np.uint64(64) - bits
    written = 0
    for node in range(start, len(nodes)):
        if written + rows > len(out_counts):
            return node
        last = at[0]
        for index in range(nodes.shape[1]):
            level = nodes[node, index]
            before = nodes[last, index] if last >= 0 else 0
            if level == before:
                continue
            word, shift, mask = words[index], shifts[index], masks[index]
            others = ~(mask << shift)
            to, since = level_offsets[index, level], level_offsets[index, before]
            for row in range(rows):
                code = (keys[word, row] >> shift) & mask
                shown[word, row] = (shown[word, row] & others) | (np.uint64(levels[to + code]) << shift)
            if mark:
                for row in range(rows):
                    code = (keys[word, row] >> shift) & mask
                    above[row] += np.int64(beyond[to + code]) - np.int64(beyond[since + code])
        at[0] = node
        slots[:size] = -1
        for row in range(rows):
            first = shown[0, row] | mark if mark and above[row] > 0 else shown[0, row]
            mixed = first * _GOLDEN
            for w in range(1, many):
                mixed = (mixed ^ (mixed >> np.uint64(32)) ^ shown[w, row]) * _GOLDEN
            slot = np.int64(mixed >> down)
            while True:
                found = slots[slot]
                if found < 0:
                    slots[slot] = written
                    out_keys[0, written] = first
                    for w in range(1, many):
                        out_keys[w, written] = shown[w, row]
                    out_counts[written] = counts[row]
                    written += 1
                    break
                same = out_keys[0, found] == first
                for w in range(1, many):
                    same &= out_keys[w, found] == shown[w, row]
                if same:
                    out_counts[found] += counts[row]
                    break
                slot = (slot + 1) & (size - 1)
        ends[node] = written
    return len(nodes)


_SUM = (
    "void(i2[:,::1],i8[::1],u8[:,::1],i8[::1],b1[::1],i8[::1],u8[::1],u8[::1],i8[:,::1],i8[::1],f8[:,::1],"
    "i8[::1],i8[::1],i8[::1],i8[::1],f8[:,:,::1],f8[:,::1])"
)


@kernel(_SUM)
def sum_up(
    nodes,  # [node, place]: levels
    ends,  # [node]: where each node's classes end
    keys,  # [word, class]
    counts,  # [class]: records
    fits,  # [class]: whether it is kept
    words,  # [place]
    shifts,  # [place]
    masks,  # [place]
    offsets,  # [place, level + 1]: where the labels of a level start
    totals,  # for each label of each level: the records that have it
    costs,  # [cost, label]: what a record with the label adds
    suppressed,  # out [node]: records of classes that are not kept
    classes,  # out [node]: classes that are kept
    squares,  # out [node]: the sum of their squared sizes
    all_squares,  # out [node]: the same for all classes
    kept,  # out [cost, node, place]: what the kept records add
    suppressed_entropy,  # out [node, place]: log2 of suppressed records over those with the same label, summed
):
    """Add up what becomes of each node when the classes that do not fit are suppressed."""
    indices = nodes.shape[1]
    most = _count_most_labels(offsets)
    histogram = np.empty((indices, most), np.int64)
    begin = 0
    for node in range(len(nodes)):
        end = ends[node]
        out, fitting, square, all_square = 0, 0, 0, 0
        for row in range(begin, end):
            size = counts[row]
            all_square += size * size
            if fits[row]:
                fitting += 1
                square += size * size
            else:
                out += size
        suppressed[node], classes[node], squares[node], all_squares[node] = out, fitting, square, all_square
        # the shorter list of classes is counted by label, the other one is the rest
        counts_kept = fitting <= end - begin - fitting
        for index in range(indices):
            first = offsets[index, nodes[node, index]]
            for label in range(offsets[index, nodes[node, index] + 1] - first):
                histogram[index, label] = 0
        for row in range(begin, end):
            if fits[row] == counts_kept:
                for index in range(indices):
                    number = (keys[words[index], row] >> shifts[index]) & masks[index]
                    histogram[index, number] += counts[row]
        for index in range(indices):
            first = offsets[index, nodes[node, index]]
            known = 0.0
            for cost in range(len(costs)):
                kept[cost, node, index] = 0.0
            for label in range(offsets[index, nodes[node, index] + 1] - first):
                records = histogram[index, label]
                hidden = totals[first + label] - records
                if not counts_kept:
                    records, hidden = hidden, records
                for cost in range(len(costs)):
                    kept[cost, node, index] += records * costs[cost, first + label]
                if hidden > 0:
                    known += hidden * np.log2(hidden)
            suppressed_entropy[node, index] = out * np.log2(out) - known if out > 0 else 0.0
        begin = end
