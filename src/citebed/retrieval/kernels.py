"""Exact top-k by upper bounds: the inner loops, compiled by numba.

A search has two steps. The first step gives every document an upper bound of its score, in whole
units of 16 bits. Rare terms add their bounds document by document. Frequent terms, which make up
most of the work of a long query, add a whole row of 8-bit bounds at once, with one number for each
document; processors add sixteen of them at a time. The second step computes the exact scores of the
few documents whose bound reaches the k-th best score. If the query is so short, or k so large, that
this would take longer than adding up all impacts, ``accumulate`` adds up all impacts instead.

Documents are divided into ranges whose bounds fit into the processor's cache.

All compiled code is in this one file, although that makes it long: numba discards its cached
machine code only if this file changes, and would miss a change in an imported file.

numba makes vector code only of loops over slices that start at 0, which explains the form of the
loops here.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from citebed.retrieval.numba_cache import compiled

RANGE = 1 << 17
"""Number of documents in a range. Their 16-bit bounds take 256 KB."""
SUMS = 1 << 17
"""Number of documents in a range of ``accumulate``. Their sums take 1 MB."""
MOST_UNITS = 65_000
_STRIP = 4096
_AHEAD = 4
_POSTINGS_A_DOCUMENT = 60
"""Looking up the rare terms of one document takes as long as reading this many postings."""
_LEVELS = 4096
_SUM_LEVELS = 4096
_WIDTH = 64
_CHUNK = 16

kernel = compiled(nogil=True, error_model="numpy")


# --- the best of many ---


@kernel
def nth_largest(values, n):
    """Return about the n-th largest whole number, never more than that; 0 if there are too few."""
    most = 0
    for i in range(values.size):
        most = max(most, np.int64(values[i]))
    shift = 0
    while most >> shift >= _LEVELS:
        shift += 1
    counts = np.zeros(_LEVELS, np.int32)
    for i in range(values.size):
        counts[np.int64(values[i]) >> shift] += 1
    seen = 0
    for level in range(_LEVELS - 1, -1, -1):
        seen += counts[level]
        if seen >= n:
            return level << shift
    return 0


@kernel
def kth(scores, n, k):
    """Return the k-th largest of the first ``n`` scores; minus infinity if there are fewer."""
    if n < k:
        return -np.inf
    values = scores[:n].copy()
    low, high = 0, n - 1
    while low < high:  # quickselect: numpy's partition takes seconds to compile
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] > pivot:
                left += 1
            while values[right] < pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            break
    return values[k - 1]


@kernel
def end_of_range(docs, start, end, limit):
    """Return the first posting from ``start`` to ``end`` whose document is not below ``limit``."""
    while start < end:
        middle = (start + end) // 2
        if docs[middle] < limit:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def chunk_maxima(values, chunk, lowest, out):
    """Write the maximum of every chunk of values to ``out``; return the number of chunks.

    Chunks are interleaved, ``_WIDTH`` at a time, so that vector instructions compare many
    neighbours at once. ``member`` returns the positions of a chunk's values. Some of the last
    chunks may be empty; their maximum is ``lowest``.
    """
    n = 0
    for start in range(0, values.size, chunk * _WIDTH):
        best = out[n : n + _WIDTH]
        best[:] = lowest
        for row in range(start, min(start + chunk * _WIDTH, values.size), _WIDTH):
            part = values[row : min(row + _WIDTH, values.size)]
            for i in range(part.size):
                best[i] = part[i] if part[i] > best[i] else best[i]
        n += _WIDTH
    return n


@kernel
def member(c, i, chunk):
    """Return the position of the i-th value of chunk ``c``."""
    return (c // _WIDTH) * (chunk * _WIDTH) + i * _WIDTH + c % _WIDTH


@kernel
def _merge(order, start, middle, end, docs, scores, out):
    """Merge two neighbouring sorted runs, best score first; the larger document wins ties."""
    i, j = start, middle
    for at in range(start, end):
        left = i < middle
        if left and j < end:
            one, two = order[i], order[j]
            left = scores[one] > scores[two] or (
                scores[one] == scores[two] and docs[one] >= docs[two]
            )
        if left:
            out[at] = order[i]
            i += 1
        else:
            out[at] = order[j]
            j += 1


@kernel
def best_of(docs, scores, threshold, k):
    """Return the best ``k`` in order. The larger document wins ties."""
    order, n = np.empty(scores.size, np.int64), 0
    for i in range(scores.size):
        if scores[i] >= threshold:
            order[n] = i
            n += 1
    out, width = np.empty(n, np.int64), 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            _merge(order, start, middle, end, docs, scores, out)
        order, out = out, order
        width *= 2
    n = min(n, k)
    best_docs, best_scores = np.empty(n, docs.dtype), np.empty(n, np.float64)
    for i in range(n):
        best_docs[i], best_scores[i] = docs[order[i]], scores[order[i]]
    return best_docs, best_scores


# --- adding up all impacts ---


@kernel
def _add(sums, docs, impacts, weight, first):
    for i in range(docs.size):
        sums[docs[i] - np.uint32(first)] += weight * np.float64(impacts[i])


@kernel
def _add_extra(sums, g, g_weight, constant):
    """Add the document scores, which do not depend on terms, to documents that have a term."""
    for i in range(sums.size):
        if np.signbit(sums[i]):
            sums[i] = -np.inf
        elif g.size:
            sums[i] = sums[i] + g_weight * g[i] + constant
        else:
            sums[i] += constant


@kernel
def _leave_out(sums, banned, allowed):
    """Give documents that may not be returned the lowest score."""
    for i in range(sums.size):
        if banned[i] or (allowed.size and not allowed[i]):
            sums[i] = -np.inf


@kernel
def _collect_sums(sums, chunk_best, least, first, has_extra, found):
    """Append the documents that have a term and a sum of at least ``least``."""
    found_docs, found_scores, n = found
    for c in range(chunk_best.size):
        if chunk_best[c] < least:
            continue
        for i in range(_CHUNK):
            at = member(c, i, _CHUNK)
            score = sums[at] if at < sums.size else -np.inf
            if score >= least and score > -np.inf and (has_extra or not np.signbit(score)):
                found_docs[n] = first + at
                found_scores[n] = score
                n += 1
    return n


@kernel
def _nth_at_least(values, n):
    """Return about the n-th largest value, so that at least ``n`` values reach it."""
    low, high = np.inf, -np.inf
    for i in range(values.size):
        if values[i] > -np.inf:
            low, high = min(low, values[i]), max(high, values[i])
    if not low < high:
        return -np.inf
    scale = _SUM_LEVELS / (high - low)
    if not np.isfinite(scale):
        return -np.inf
    counts = np.zeros(_SUM_LEVELS + 1, np.int32)
    for i in range(values.size):
        if values[i] > -np.inf:
            counts[min(np.int64((values[i] - low) * scale), _SUM_LEVELS)] += 1
    seen = 0
    for level in range(_SUM_LEVELS, 0, -1):
        seen += counts[level]
        if seen >= n:
            return low + (level - 0.5) / scale  # half a level less, to allow for rounding
    return -np.inf


@kernel
def accumulate(prepared, terms, weights, extra, allowed, k, workspace):
    """Return the best ``k`` documents as ``search`` does. No weight may be negative.

    A sum starts as minus zero and changes with the first impact, even if that is 0. So the sums
    show which documents have a term of the query.
    """
    offsets, docs, _, _, impacts = prepared[0]
    row_of_term = prepared[1][0]
    g = prepared[3][0]
    g_weight, constant = extra
    has_extra = g.size > 0 or constant != 0
    frequent = row_of_term[terms] >= 0
    _, _, _, _, _, _, banned, found_docs, found_scores, all_sums = workspace
    documents = banned.size
    at = offsets[terms]
    chunk_best = np.empty(SUMS // _CHUNK + 64, np.float64)
    n_found, least = np.int64(0), -np.inf
    excludes = allowed.size > 0 or banned.any()
    for first in range(0, documents, SUMS):
        last = min(first + SUMS, documents)
        sums = all_sums[: last - first]
        sums[:] = -0.0
        for turn in range(2):  # frequent terms first, as everywhere: sums are to be the same
            for t in range(terms.size):
                if frequent[t] == (turn == 0):
                    end = offsets[terms[t] + 1]
                    if last < documents:
                        end = end_of_range(docs, at[t], end, last)
                    _add(sums, docs[at[t] : end], impacts[at[t] : end], weights[t], first)
                    at[t] = end
        if has_extra:
            _add_extra(sums, g[first:last], g_weight, constant)
        if excludes:
            _leave_out(sums, banned[first:last], allowed[first:last])
        n_chunks = chunk_maxima(sums, _CHUNK, -np.inf, chunk_best)
        if n_found == 0 and n_chunks >= k:
            least = _nth_at_least(chunk_best[:n_chunks], k)
        found = (found_docs, found_scores, n_found)
        n_found = _collect_sums(sums, chunk_best[:n_chunks], least, first, has_extra, found)
        least = max(least, kth(found_scores, n_found, k))
    return best_of(found_docs[:n_found], found_scores[:n_found], least, k)


# --- upper bounds ---


@kernel
def turn_round(offsets, docs, impacts, number_of_term, starts, terms_out, impacts_out):
    """Sort the postings of some terms by document; terms stay in order. ``starts`` is overwritten.

    Each term is stored under the number given for it; a term with number -1 is skipped.
    """
    for term in range(offsets.size - 1):
        number = number_of_term[term]
        if number < 0:
            continue
        for i in range(offsets[term], offsets[term + 1]):
            at = starts[docs[i]]
            terms_out[at] = number
            impacts_out[at] = impacts[i]
            starts[docs[i]] = at + 1


@kernel
def quantise(impacts, unit, out):
    """Round each impact up to a whole number of units."""
    for i in range(impacts.size):
        n = np.int64(np.ceil(impacts[i] / unit))
        while n * unit < impacts[i]:
            n += 1
        out[i] = min(max(n, 1), 255)  # at least 1: a document that has the term can be told


@kernel
def _add_rows(bounds, rows, chosen, times, first):
    """Add each chosen row, times its multiplier, to the bounds that begin at position ``first``."""
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


@kernel
def _add_postings(bounds, docs, levels, factor):
    """Add a rare term. ``factor`` is 256 times the units of one level, rounded up."""
    for i in range(docs.size):
        units = ((np.uint32(levels[i]) * factor) >> np.uint32(8)) + np.uint32(1)
        bounds[docs[i] % np.uint32(RANGE)] += np.uint16(units)


@kernel
def _only_best(found, n, first, bounds, wanted):
    """Keep about ``wanted`` of the first ``n`` documents: those with the highest bounds.

    Return their number, and the bound that all of them reach and no other document reaches.
    """
    mine = np.empty(n, np.uint16)
    for i in range(n):
        mine[i] = bounds[found[i] - first]
    need = nth_largest(mine, wanted)
    kept = 0
    for i in range(n):
        if mine[i] >= need:
            found[kept] = found[i]
            kept += 1
    return kept, need


@kernel
def choose_unit(weights, unit_of_rows, row_maxima, rare, slots, g_span):
    """Return the score of one unit, chosen so that no bound can exceed ``MOST_UNITS``.

    There are two choices: the rows' own unit times the smallest weight, which loses nothing for
    weights that are multiples of the smallest, and the finest unit that fits. The one with the
    tighter bounds wins. ``slots`` holds the row of each query term, or -1 for a rare term, whose
    maximum is in ``rare``. A row adds each of its levels at least once, and a rare term at least 1.
    If even that is too much, return 0.
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


@kernel
def _whole(number):
    """Round up to an integer, at most 10^9: a larger number never fits and may overflow."""
    return np.int64(min(np.ceil(number), 1e9))


@kernel
def _times(amount, unit):
    return max(_whole(amount / unit * (1 - 1e-12)), 1)


@kernel
def _factor(weight, maximum, unit):
    return _whole(256.0 * weight * (maximum / 255.0) / unit * (1 + 1e-9))


@kernel
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
    """Ask the processor to prefetch an item of an array."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        whole = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, whole, whole, whole])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, whole(0), whole(3), whole(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@kernel
def _frequent_score(doc, by_frequent, row_weights):
    """Return the sum over the document's frequent terms; minus zero if none is in the query.

    Terms that are not in the query weigh minus zero, which changes no sum. So no term needs a test,
    and a sum that is still minus zero shows that no term of the query occurred.
    """
    offsets, all_rows, all_impacts = by_frequent
    rows = all_rows[offsets[doc] : offsets[doc + 1]]
    impacts = all_impacts[offsets[doc] : offsets[doc + 1]]
    total = -0.0
    for i in range(rows.size):
        total += row_weights[rows[i]] * np.float64(impacts[i])
    return total


@kernel
def _rare_score(total, doc, by_rare, asked, slot_of_term, weights):
    """Add the document's rare terms to the sum, in the order of terms.

    ``asked`` has one bit for each term. It fits into the fastest cache and rules out most of a
    document's terms.
    """
    offsets, all_terms, all_impacts = by_rare
    terms = all_terms[offsets[doc] : offsets[doc + 1]]
    impacts = all_impacts[offsets[doc] : offsets[doc + 1]]
    for i in range(terms.size):
        term = terms[i]
        if (asked[term >> np.uint32(5)] >> (term & np.uint32(31))) & np.uint32(1):
            total += weights[slot_of_term[term]] * np.float64(impacts[i])
    return total


@kernel
def _fetch(array, start, end, step):
    """Prefetch a slice of an array; ``step`` is the number of items in a cache line."""
    while start < end:
        _prefetch(array, start)
        start += step


@kernel
def _score_found(found_docs, found_scores, first, last, forward, query, by_postings):
    """Score the documents from ``first`` to ``last``: frequent terms first, then rare ones.

    The terms of different documents are far apart in memory, so they are prefetched a few documents
    ahead. If there are many documents to score, the loop over rare terms reads their postings
    instead of searching each document for them.
    """
    by_frequent, by_rare = forward
    asked, slot_of_term, weights, row_weights = query
    for i in range(first, last):
        ahead = found_docs[min(i + _AHEAD, last - 1)]
        _fetch(by_frequent[1], by_frequent[0][ahead], by_frequent[0][ahead + 1], 32)
        _fetch(by_frequent[2], by_frequent[0][ahead], by_frequent[0][ahead + 1], 16)
        doc = found_docs[i]
        found_scores[i] = _frequent_score(doc, by_frequent, row_weights)
        if not by_postings:
            _fetch(by_rare[1], by_rare[0][ahead], by_rare[0][ahead + 1], 16)
            found_scores[i] = _rare_score(
                found_scores[i], doc, by_rare, asked, slot_of_term, weights
            )


@kernel
def _add_rare(found_docs, found_scores, first, last, rare_postings, slot_of_doc):
    """Add the rare terms to the scores of the selected documents by reading the terms' postings."""
    offsets, docs, impacts, terms, weights, slots = rare_postings
    for i in range(first, last):
        slot_of_doc[found_docs[i]] = i + 1
    for t in range(terms.size):
        if slots[t] < 0:
            span_docs = docs[offsets[terms[t]] : offsets[terms[t] + 1]]
            span_impacts = impacts[offsets[terms[t]] : offsets[terms[t] + 1]]
            for i in range(span_docs.size):
                slot = slot_of_doc[span_docs[i]]
                if slot > 0:
                    found_scores[slot - 1] += weights[t] * np.float64(span_impacts[i])
    for i in range(first, last):
        slot_of_doc[found_docs[i]] = 0


@kernel
def _keep_best(found_docs, found_scores, first, last, g, extra, threshold):
    """Keep the documents that have a term of the query and reach ``threshold``."""
    g_weight, constant = extra
    kept = first
    for i in range(first, last):
        score = found_scores[i]
        if np.signbit(score):
            continue
        score = score + g_weight * g[found_docs[i]] + constant if g.size else score + constant
        if score >= threshold:
            found_docs[kept] = found_docs[i]
            found_scores[kept] = score
            kept += 1
    return kept


@kernel
def _collect(bounds, chunk, chunk_best, need, upper, first, may, found, n):
    """Append the documents with a bound of at least ``need`` and less than ``upper``."""
    allowed, banned = may
    for c in range(chunk_best.size):
        if chunk_best[c] < need:
            continue
        for i in range(chunk):
            at = member(c, i, chunk)
            if at < bounds.size and need <= bounds[at] < upper:
                doc = first + at
                if not banned[doc] and (allowed.size == 0 or allowed[doc]):
                    found[n] = doc
                    n += 1
    return n


@kernel
def search(prepared, terms, weights, extra, allowed, k, workspace):
    """Return the numbers and scores of the best ``k`` documents, best first.

    The larger number wins ties. ``terms`` must ascend, and weights must be above 0. ``extra`` holds
    the weight of g and the constant. ``allowed`` is empty, or a mask of the documents that may be
    returned. Documents that are marked in the workspace's ``banned`` are left out too.
    """
    by_term, by_row, forward, by_document = prepared
    offsets, docs, levels, maxima, impacts = by_term
    row_of_term, rows, row_unit, row_maxima = by_row
    g, g_levels, g_low, g_unit = by_document
    g_weight, constant = extra
    (
        bounds, chunk_best, asked, slot_of_term, slot_of_doc, row_weights, banned,
        found_docs, found_scores, _,
    ) = workspace  # fmt: skip

    n_terms, documents = terms.size, banned.size
    slots, rare = np.empty(n_terms, np.int64), np.empty(n_terms)
    for t in range(n_terms):
        term = np.uint32(terms[t])
        slot_of_term[term] = t
        asked[term >> np.uint32(5)] |= np.uint32(1) << (term & np.uint32(31))
        slots[t], rare[t] = row_of_term[term], maxima[term]
    g_span = g_weight * g_unit * 255.0 if g.size else 0.0
    unit = choose_unit(weights, row_unit, row_maxima, rare, slots, g_span)
    if unit == 0:
        for t in range(n_terms):
            asked[terms[t] >> 5] = 0
        return accumulate(prepared, terms, weights, extra, allowed, k, workspace)
    base = constant + (g_weight * g_low if g.size else 0.0)
    g_times = np.uint32(np.ceil(256.0 * g_weight * g_unit / unit)) if g.size else np.uint32(0)
    chosen = slots[slots >= 0]
    times = np.empty(chosen.size, np.uint8)
    at = np.empty(n_terms, np.int64)
    j, n_rare = 0, 0
    for t in range(n_terms):
        at[t] = offsets[terms[t]]
        if slots[t] >= 0:
            times[j] = _times(weights[t] * row_unit, unit)
            row_weights[slots[t]] = weights[t]
            j += 1
        else:
            n_rare += offsets[terms[t] + 1] - at[t]
    query = (asked, slot_of_term, weights, row_weights)
    rare_postings = (offsets, docs, impacts, terms, weights, slots)

    chunk = 64 if 8 * k * 64 <= documents else 16
    n_found, threshold, wanted = np.int64(0), -np.inf, k + k // 16 + 16
    for first in range(0, documents, RANGE):
        here = bounds[: min(RANGE, documents - first)]
        if g.size:
            _set_levels(here, g_levels[first : first + here.size], g_times)
        else:
            here[:] = 0
        for t in range(n_terms):
            if slots[t] < 0:
                end = offsets[terms[t] + 1]
                if first + RANGE < documents:
                    end = end_of_range(docs, at[t], end, first + RANGE)
                factor = np.uint32(_factor(weights[t], rare[t], unit))
                _add_postings(here, docs[at[t] : end], levels[at[t] : end], factor)
                at[t] = end
        _add_rows(here, rows, chosen, times, first)
        n_chunks = chunk_maxima(here, chunk, 0, chunk_best)

        upper = np.int64(65_536)
        for look in range(3):
            if n_found >= k:
                rounding = 1e-15 * (abs(threshold) + abs(base))
                reach = np.floor((threshold - base - rounding) / unit) - 1.0
                need = np.int64(min(max(reach, 1.0), 65_536.0))
            elif look == 0:
                need = max(nth_largest(chunk_best[:n_chunks], wanted), 1)
            else:
                need = np.int64(1)
            if need >= upper:
                break
            n = _collect(
                here, chunk, chunk_best[:n_chunks], need, upper, first, (allowed, banned),
                found_docs, n_found,
            )  # fmt: skip
            if look == 0 and n_found == 0 and n > wanted:
                n, higher = _only_best(found_docs, n, first, here, wanted)
                need = max(need, higher)
            by_postings = n_rare < (n - n_found) * _POSTINGS_A_DOCUMENT
            _score_found(found_docs, found_scores, n_found, n, forward, query, by_postings)
            if by_postings:
                _add_rare(found_docs, found_scores, n_found, n, rare_postings, slot_of_doc)
            n_found = _keep_best(found_docs, found_scores, n_found, n, g, extra, threshold)
            threshold = max(threshold, kth(found_scores, n_found, k))
            upper = need
    for t in range(n_terms):
        asked[terms[t] >> 5] = 0
    for j in range(chosen.size):
        row_weights[chosen[j]] = -0.0
    return best_of(found_docs[:n_found], found_scores[:n_found], threshold, k)


@kernel
def _set_levels(bounds, levels, factor):
    """Initialise the bounds with the document scores, which do not depend on terms."""
    for i in range(bounds.size):
        bounds[i] = np.uint16(((np.uint32(levels[i]) * factor) >> np.uint32(8)) + np.uint32(1))


@kernel
def _is_sparse(prepared, terms, k):
    """Return True if adding up all impacts is estimated to take less time than bounds and
    scoring.
    """
    offsets, row_of_term = prepared[0][0], prepared[1][0]
    documents = prepared[2][0][0].size - 1
    postings, rare, rows = 0, 0, 0
    for t in range(terms.size):
        df = offsets[terms[t] + 1] - offsets[terms[t]]
        postings += df
        if row_of_term[terms[t]] >= 0:
            rows += 1
        else:
            rare += df
    scored = min(k + 50, documents)
    bounded = 3.0 * rare + 0.12 * rows * documents + 0.4 * documents + 250.0 * scored
    return 2.2 * postings + 2.0 * documents + 100.0 * k < bounded


@kernel
def search_many(prepared, queries, excluded, allowed, k, workspace, out):
    """Run ``search`` for many queries and write the results to ``out``, one row per query.

    ``queries`` holds the start of each query, the terms and weights of all queries, the weights of
    g, and the constants. ``excluded`` holds the start of each query's excluded documents, and the
    documents.
    """
    starts, terms, weights, g_weights, constants = queries
    excluded_starts, excluded_docs = excluded
    out_docs, out_scores, out_counts = out
    banned = workspace[6]
    for q in range(starts.size - 1):
        a, b = starts[q], starts[q + 1]
        extra = (g_weights[q], constants[q])
        for i in range(excluded_starts[q], excluded_starts[q + 1]):
            banned[excluded_docs[i]] = 1
        query = (prepared, terms[a:b], weights[a:b], extra, allowed, k, workspace)
        docs, scores = accumulate(*query) if _is_sparse(prepared, terms[a:b], k) else search(*query)
        for i in range(excluded_starts[q], excluded_starts[q + 1]):
            banned[excluded_docs[i]] = 0
        for i in range(docs.size):
            out_docs[q, i], out_scores[q, i] = docs[i], scores[i]
        out_counts[q] = docs.size


@kernel
def contributions(offsets, docs, impacts, terms, wanted, table):
    """Fill a table with the impact of each term (column) on each document (row) of ``wanted``.

    ``wanted`` must be sorted.
    """
    for column in range(terms.size):
        low, end = offsets[terms[column]], offsets[terms[column] + 1]
        for row in range(wanted.size):
            high = end
            while low < high:
                middle = (low + high) // 2
                if docs[middle] < wanted[row]:
                    low = middle + 1
                else:
                    high = middle
            if low < end and docs[low] == wanted[row]:
                table[row, column] = impacts[low]


def compile_search() -> None:
    """Compile the search by running it on an empty index. This takes a minute, once per machine."""
    i64, i32, u32, u16, u8, f64, f32 = (
        np.zeros(1, kind)
        for kind in (np.int64, np.int32, np.uint32, np.uint16, np.uint8, np.float64, np.float32)
    )
    two = np.zeros(2, np.int64)
    prepared = (
        (two, u32[:0], u8[:0], f64, f32[:0]),
        (i32, np.zeros((1, 1), np.uint8), 1.0, u8),
        ((two, u16[:0], f32[:0]), (two, u32[:0], f32[:0])),
        (f64[:0], u8[:0], 0.0, 1.0),
    )
    workspace = (
        np.zeros(RANGE, np.uint16), np.zeros(RANGE // 16 + 512, np.uint16), u32, i32, i32, f64, u8,
        i64, f64, np.zeros(SUMS),
    )  # fmt: skip
    out = (np.empty((1, 1), np.int64), np.empty((1, 1)), i64)
    search_many(
        prepared, (two, i64[:0], f64[:0], f64, f64), (two, i64[:0]), np.zeros(0, bool), 1,
        workspace, out,
    )  # fmt: skip
    _compile_preparing(two, u32[:0], f32[:0])


def _compile_preparing(offsets, docs, impacts):
    """Compile the functions that prepare an index for searches, for the types in use."""
    bounds, chosen = np.zeros(0, np.uint8), np.zeros(1, np.int32)
    for values in (impacts, np.zeros(0)):
        quantise(values, 1.0, bounds)
    none = np.zeros(0, np.int64)
    contributions(offsets, docs, impacts, none, none, np.zeros((0, 0)))
    for kind in (np.uint16, np.uint32):
        turn_round(offsets, docs, impacts, chosen, offsets[:-1], np.zeros(0, kind), impacts)
