"""Exact top-k by upper bounds: the inner loops, compiled by numba.

A search has two steps. First every document gets an upper bound of its score, in whole units
of 16 bits: rare terms add theirs document by document, frequent terms (which make up most of
the work of a long query) add a whole row of 8-bit bounds at once, which processors do sixteen
at a time. A row has one number for each block of ``B`` neighbouring documents, their maximum.
Then the few documents whose bound reaches the k-th best score are scored exactly.

Documents are cut into ranges small enough for the bounds to stay in the processor's cache.
Inside a range the documents of a block are a fixed distance apart (see ``place_of``), so that
adding a row to the bounds is plain vector work.

numba only makes vector code of loops that start at 0 over slices, hence their shape here.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

RANGE = 1 << 17
"""Documents of a range: their 16-bit bounds take 256 KB."""
MOST_UNITS = 65_000
_STRIP = 4096
_AHEAD = 4
_COARSE = 2

_kernel = njit(cache=True, nogil=True, error_model="numpy")


@_kernel
def place_of(doc, block):
    """Where a document's bound is: its range, then its place in the block, then the block."""
    local = doc % RANGE
    return (doc - local) + (local % block) * (RANGE // block) + local // block


@_kernel
def places_of(docs, block, out):
    """``place_of`` for many."""
    for i in range(docs.size):
        out[i] = place_of(np.int64(docs[i]), block)


@_kernel
def transpose(offsets, docs, impacts, starts, terms_out, impacts_out):
    """Postings by document instead of by term; terms stay in order. ``starts`` is used up.

    The two outputs are views of one array in which term and impact take turns.
    """
    for term in range(offsets.size - 1):
        for i in range(offsets[term], offsets[term + 1]):
            at = starts[docs[i]]
            terms_out[2 * at] = term
            impacts_out[2 * at + 1] = impacts[i]
            starts[docs[i]] = at + 1


@_kernel
def quantise(impacts, unit, out):
    """The least whole number of units that is no less than each impact."""
    for i in range(impacts.size):
        n = np.int64(np.ceil(impacts[i] / unit))
        while n * unit < impacts[i]:
            n += 1
        out[i] = min(max(n, 1), 255)  # at least 1: a document that has the term can be told


@_kernel
def fill_row(docs, bounds, block, row):
    """A frequent term's row: for each block of documents the maximum of their bounds."""
    for i in range(docs.size):
        at = docs[i] // block
        row[at] = max(row[at], bounds[i])


@_kernel
def _add_rows(bounds, rows, chosen, times, first):
    """Add the chosen rows, each some times, to the bounds that begin at ``first`` in them."""
    n = chosen.size
    for start in range(0, bounds.size, _STRIP):
        end = min(start + _STRIP, bounds.size)
        out = bounds[start:end]
        low, high = first + start, first + end
        j = 0
        while j + 4 <= n:
            a, b = rows[chosen[j], low:high], rows[chosen[j + 1], low:high]
            c, d = rows[chosen[j + 2], low:high], rows[chosen[j + 3], low:high]
            ta, tb = np.uint16(times[j]), np.uint16(times[j + 1])
            tc, td = np.uint16(times[j + 2]), np.uint16(times[j + 3])
            for i in range(out.size):
                out[i] = np.uint16(
                    out[i]
                    + np.uint16(np.uint16(a[i]) * ta)
                    + np.uint16(np.uint16(b[i]) * tb)
                    + np.uint16(np.uint16(c[i]) * tc)
                    + np.uint16(np.uint16(d[i]) * td)
                )
            j += 4
        while j < n:
            a = rows[chosen[j], low:high]
            ta = np.uint16(times[j])
            for i in range(out.size):
                out[i] = np.uint16(out[i] + np.uint16(np.uint16(a[i]) * ta))
            j += 1


@_kernel
def _add_postings(bounds, places, levels, factor):
    """Add a rare term: ``factor`` is 256 times its units a level, rounded up."""
    for i in range(places.size):
        units = ((np.uint32(levels[i]) * factor) >> np.uint32(8)) + np.uint32(1)
        bounds[places[i] % np.uint32(RANGE)] += np.uint16(units)


@_kernel
def _merge_blocks(bounds, blocks):
    for i in range(bounds.size):
        bounds[i] = np.uint16(bounds[i] + blocks[i])


@_kernel
def _chunk_maxima(bounds, chunk, out):
    """The maximum of every ``chunk`` bounds."""
    for c in range((bounds.size + chunk - 1) // chunk):
        start = c * chunk
        part = bounds[start : min(start + chunk, bounds.size)]
        best = np.uint16(0)
        for i in range(part.size):
            best = max(best, part[i])
        out[c] = best


@_kernel
def _nth_largest(values, n):
    """About the n-th largest of 16-bit values, by counting, never above it; 0 if too few."""
    counts = np.zeros(65_536 >> _COARSE, np.int32)
    for i in range(values.size):
        counts[values[i] >> _COARSE] += 1
    seen = 0
    for level in range(counts.size - 1, -1, -1):
        seen += counts[level]
        if seen >= n:
            return level << _COARSE
    return 0


@_kernel
def _only_best(found, n, first, block, bounds, wanted):
    """Of the first ``n`` documents found, keep about the ``wanted`` with the highest bounds.

    Returns how many were kept and the bound that all of these have, and no other one.
    """
    mine = np.empty(n, np.uint16)
    for i in range(n):
        mine[i] = bounds[place_of(found[i] - first, block)]
    need = _nth_largest(mine, wanted)
    kept = 0
    for i in range(n):
        if mine[i] >= need:
            found[kept] = found[i]
            kept += 1
    return kept, need


@_kernel
def choose_unit(weights, unit_of_rows, row_maxima, rare, slots, g_span):
    """How much of a score one unit is, so that no bound can pass ``MOST_UNITS``.

    Tried are: the rows' own unit times the smallest weight (then a weight that is a multiple
    of it loses nothing) and the finest that fits. Whichever makes the bounds tighter is taken.
    ``slots`` tells the row of each query term, -1 for a rare one, whose maximum is in ``rare``.
    A row adds its levels at least once, a rare term 1: where even that is too much, 0 is returned.
    """
    total, least, fewest = g_span, np.inf, np.int64(3)
    for t in range(weights.size):
        if slots[t] >= 0:
            total += weights[t] * unit_of_rows * row_maxima[slots[t]]
            least = min(least, weights[t])
            fewest += np.int64(row_maxima[slots[t]])
        else:
            total += weights[t] * rare[t]
            fewest += 1
    if fewest > MOST_UNITS:
        return 0.0
    finest = max(total / (0.7 * MOST_UNITS), 1e-300)
    while not _fits(finest, weights, unit_of_rows, row_maxima, rare, slots, g_span):
        finest *= 1.1
    if least == np.inf:
        return finest
    natural = least * unit_of_rows
    if not _fits(natural, weights, unit_of_rows, row_maxima, rare, slots, g_span):
        return finest
    loose_natural, loose_finest = 0.0, 0.0
    for t in range(weights.size):
        if slots[t] >= 0:
            exact = weights[t] * unit_of_rows
            share = row_maxima[slots[t]]
            loose_natural += (_times(exact, natural) * natural - exact) * share
            loose_finest += (_times(exact, finest) * finest - exact) * share
    return natural if loose_natural <= loose_finest else finest


@_kernel
def _whole(number):
    """Rounded up, but no further than what can never fit: a larger one may be no integer."""
    return np.int64(min(np.ceil(number), 1e9))


@_kernel
def _times(amount, unit):
    return max(_whole(amount / unit * (1 - 1e-12)), 1)


@_kernel
def _factor(weight, maximum, unit):
    return _whole(256.0 * weight * (maximum / 255.0) / unit * (1 + 1e-9))


@_kernel
def _fits(unit, weights, unit_of_rows, row_maxima, rare, slots, g_span):
    units = _whole(g_span / unit) + 2
    for t in range(weights.size):
        if slots[t] >= 0:
            times = _times(weights[t] * unit_of_rows, unit)
            if times > 255:
                return False
            units += times * np.int64(row_maxima[slots[t]])
        else:
            units += ((255 * _factor(weights[t], rare[t], unit)) >> 8) + 1
        if units > MOST_UNITS:
            return False
    return True


@intrinsic
def _prefetch(typing, array, at):  # noqa: ARG001
    """Ask the processor to fetch what is at a place of an array, without waiting for it."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        whole = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, whole, whole, whole])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, whole(0), whole(3), whole(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@_kernel
def _score(doc, forward, asked, slot_of_term, weights):
    """The sum over the query's terms in the document, in the order of terms, and if any is.

    ``asked`` has a bit for each term: it stays in the nearest cache, where most terms of a
    document are found not to be asked for.
    """
    offsets, all_terms, all_impacts = forward
    start, end = 2 * offsets[doc], 2 * offsets[doc + 1]
    terms, impacts = all_terms[start:end], all_impacts[start:end]
    total, found = 0.0, False
    for i in range(terms.size // 2):
        term = terms[2 * i]
        if (asked[term >> np.uint32(5)] >> (term & np.uint32(31))) & np.uint32(1):
            total += weights[slot_of_term[term]] * np.float64(impacts[2 * i + 1])
            found = True
    return total, found


@_kernel
def _score_found(found_docs, found_scores, first, last, forward, query, g, threshold):
    """Score the documents from ``first`` to ``last``, keep those that reach ``threshold``.

    Their terms lie all over memory, so they are fetched a few documents ahead.
    """
    asked, slot_of_term, weights, g_weight = query
    offsets, terms, _ = forward
    kept = first
    for i in range(first, last):
        ahead = min(i + _AHEAD, last - 1)
        at, end = 2 * offsets[found_docs[ahead]], 2 * offsets[found_docs[ahead] + 1]
        while at < end:
            _prefetch(terms, at)
            at += 16
        doc = found_docs[i]
        score, hit = _score(doc, forward, asked, slot_of_term, weights)
        if hit:
            if g.size:
                score += g_weight * g[doc]
            if score >= threshold:
                found_docs[kept] = doc
                found_scores[kept] = score
                kept += 1
    return kept


@_kernel
def _score_all(found_docs, found_scores, forward, query, g, may):
    """Score every document that may be found: for queries of more terms than bounds can hold."""
    allowed, banned = may
    n = 0
    for doc in range(banned.size):
        if not banned[doc] and (allowed.size == 0 or allowed[doc]):
            found_docs[n] = doc
            n += 1
    return _score_found(found_docs, found_scores, 0, n, forward, query, g, -np.inf)


@_kernel
def _collect(bounds, chunk, chunk_best, need, upper, first, step, may, found, n):
    """Append the documents whose bound is at least ``need`` and below ``upper``."""
    allowed, banned = may
    for c in range((bounds.size + chunk - 1) // chunk):
        if chunk_best[c] < need:
            continue
        start = c * chunk
        part = bounds[start : min(start + chunk, bounds.size)]
        for i in range(part.size):
            if need <= part[i] < upper:
                doc = first + (start + i) * step
                if doc < banned.size and not banned[doc] and (allowed.size == 0 or allowed[doc]):
                    found[n] = doc
                    n += 1
    return n


@_kernel
def _kth(scores, n, k):
    """The k-th largest of the first ``n`` scores; minus infinity if there are fewer."""
    if n < k:
        return -np.inf
    return np.partition(scores[:n], n - k)[n - k]


@_kernel
def _end_of_range(docs, start, end, limit):
    """Where a term's postings (from ``start`` to ``end``) leave the documents below ``limit``."""
    while start < end:
        middle = (start + end) // 2
        if docs[middle] < limit:
            start = middle + 1
        else:
            end = middle
    return start


@_kernel
def search(prepared, block, terms, weights, g_weight, allowed, k, workspace):
    """The best ``k`` documents: numbers and scores, best first, ties by number, greatest first.

    ``terms`` ascend, weights are above 0. ``allowed`` is empty, or says of each document whether
    it may be found; those marked in the workspace's ``banned`` may not either.
    """
    by_term, by_row, forward, by_document = prepared
    offsets, docs, places, levels, maxima = by_term
    row_of_term, rows, row_unit, row_maxima = by_row
    g, g_levels, g_low, g_unit = by_document
    bounds, blocks, chunk_best, asked, slot_of_term, banned, found_docs, found_scores = workspace

    n_terms, documents = terms.size, banned.size
    slots, rare = np.empty(n_terms, np.int64), np.empty(n_terms)
    for t in range(n_terms):
        term = np.uint32(terms[t])
        slot_of_term[term] = t
        asked[term >> np.uint32(5)] |= np.uint32(1) << (term & np.uint32(31))
        slots[t], rare[t] = row_of_term[term], maxima[term]
    g_span = g_weight * g_unit * 255.0 if g.size else 0.0
    unit = choose_unit(weights, row_unit, row_maxima, rare, slots, g_span)
    query = (asked, slot_of_term, weights, g_weight)
    if unit == 0:
        may = (allowed, banned)
        n_found = _score_all(found_docs, found_scores, forward, query, g, may)
        for t in range(n_terms):
            asked[terms[t] >> 5] = 0
        least = _kth(found_scores, n_found, k)
        return _best(found_docs[:n_found], found_scores[:n_found], least, k)
    base = g_weight * g_low if g.size else 0.0
    g_times = np.uint32(np.ceil(256.0 * g_weight * g_unit / unit)) if g.size else np.uint32(0)
    chosen = slots[slots >= 0]
    times = np.empty(chosen.size, np.uint8)
    at = np.empty(n_terms, np.int64)
    j = 0
    for t in range(n_terms):
        at[t] = offsets[terms[t]]
        if slots[t] >= 0:
            times[j] = _times(weights[t] * row_unit, unit)
            j += 1

    chunk = 64 if 8 * k * 64 <= documents else 16
    width = RANGE // block
    n_found, threshold, wanted = 0, -np.inf, 0
    for first in range(0, documents, RANGE):
        n_blocks = (min(RANGE, documents - first) + block - 1) // block
        n_chunks = (n_blocks + chunk - 1) // chunk
        for j in range(block):
            strip = bounds[j * width : j * width + n_blocks]
            if g.size:
                _set_levels(
                    strip, g_levels[first + j * width : first + j * width + n_blocks], g_times
                )
            else:
                strip[:] = 0
        for t in range(n_terms):
            if slots[t] < 0:
                end = offsets[terms[t] + 1]
                if first + RANGE < documents:
                    end = _end_of_range(docs, at[t], end, first + RANGE)
                factor = np.uint32(_factor(weights[t], rare[t], unit))
                _add_postings(bounds, places[at[t] : end], levels[at[t] : end], factor)
                at[t] = end
        if block == 1:
            _add_rows(bounds[:n_blocks], rows, chosen, times, first)
        else:
            blocks[:n_blocks] = 0
            _add_rows(blocks[:n_blocks], rows, chosen, times, first // block)
            for j in range(block):
                _merge_blocks(bounds[j * width : j * width + n_blocks], blocks[:n_blocks])
        for j in range(block):
            _chunk_maxima(
                bounds[j * width : j * width + n_blocks], chunk, chunk_best[j * n_chunks :]
            )

        upper = np.int64(65_536)
        for look in range(3):
            if n_found >= k:
                need = np.int64(max(np.floor((threshold - base) / unit) - 1.0, 1.0))
            elif look == 0:
                wanted = k + k // 16 + 16 if block == 1 else 2 * k + 60
                need = max(_nth_largest(chunk_best[: block * n_chunks], wanted), 1)
            else:
                need = np.int64(1)
            if need >= upper:
                break
            n = n_found
            for j in range(block):
                n = _collect(
                    bounds[j * width : j * width + n_blocks], chunk, chunk_best[j * n_chunks :],
                    need, upper, first + j, block, (allowed, banned), found_docs, n,
                )  # fmt: skip
            if look == 0 and n_found == 0 and n > wanted:
                n, higher = _only_best(found_docs, n, first, block, bounds, wanted)
                need = max(need, higher)
            n_found = _score_found(
                found_docs, found_scores, n_found, n, forward, query, g, threshold
            )
            threshold = max(threshold, _kth(found_scores, n_found, k))
            upper = need
    for t in range(n_terms):
        asked[terms[t] >> 5] = 0
    return _best(found_docs[:n_found], found_scores[:n_found], threshold, k)


@_kernel
def _set_levels(bounds, levels, factor):
    """Begin the bounds with what the documents get whatever their terms."""
    for i in range(bounds.size):
        bounds[i] = np.uint16(((np.uint32(levels[i]) * factor) >> np.uint32(8)) + np.uint32(1))


@_kernel
def _best(docs, scores, threshold, k):
    """The best ``k`` in order; of equal scores the greatest document first."""
    keep = np.flatnonzero(scores >= threshold)
    order = keep[np.argsort(-scores[keep])]
    docs, scores = docs[order], scores[order]
    start = 0
    for i in range(1, docs.size + 1):
        if i == docs.size or scores[i] != scores[start]:
            if i - start > 1:
                docs[start:i] = np.sort(docs[start:i])[::-1]
            start = i
    return docs[:k], scores[:k]


@_kernel
def search_many(prepared, block, queries, excluded, allowed, k, workspace, out):
    """``search`` for many queries, given one after another; fills ``out`` row by row.

    ``queries``: where each begins, their terms, weights, and weights of g; ``excluded``: where
    each query's documents begin that it must not find, and these.
    """
    starts, terms, weights, g_weights = queries
    excluded_starts, excluded_docs = excluded
    out_docs, out_scores, out_counts = out
    banned = workspace[5]
    for q in range(starts.size - 1):
        a, b = starts[q], starts[q + 1]
        for i in range(excluded_starts[q], excluded_starts[q + 1]):
            banned[excluded_docs[i]] = 1
        docs, scores = search(
            prepared, block, terms[a:b], weights[a:b], g_weights[q], allowed, k, workspace
        )
        for i in range(excluded_starts[q], excluded_starts[q + 1]):
            banned[excluded_docs[i]] = 0
        out_docs[q, : docs.size] = docs
        out_scores[q, : docs.size] = scores
        out_counts[q] = docs.size
