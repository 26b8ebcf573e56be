"""Exact top-k by upper bounds: the inner loops, compiled by numba.

A search has two steps. First every document gets an upper bound of its score, in whole units
of 16 bits: rare terms add theirs document by document, frequent terms (which make up most of
the work of a long query) add a whole row of 8-bit bounds at once, which processors do sixteen
at a time. A row has one number for each block of ``B`` neighbouring documents, their maximum.
Then the few documents whose bound reaches the k-th best score are scored exactly. Where a query
is so short, or so many documents are wanted, that this would be more work than adding up all
impacts, that is done instead (``accumulate``).

Documents are cut into ranges small enough for the bounds to stay in the processor's cache.
Inside a range the documents of a block are a fixed distance apart (see ``place_of``), so that
adding a row to the bounds is plain vector work.

All compiled code is in this one file, long as it is: numba keeps what it compiled until the file
changes, and does not see that another one has which the code came from.

numba only makes vector code of loops that start at 0 over slices, hence their shape here.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from citebed.retrieval.numba_cache import compiled

RANGE = 1 << 17
"""Documents of a range: their 16-bit bounds take 256 KB."""
SUMS = 1 << 17
"""Documents of a range where impacts are added up: their sums take 1 MB."""
MOST_UNITS = 65_000
_STRIP = 4096
_AHEAD = 4
_POSTINGS_A_DOCUMENT = 60
"""Looking for a document's rare terms takes as long as going through so many postings."""
_LEVELS = 4096
_SUM_LEVELS = 4096
_WIDTH = 64
_CHUNK = 16

kernel = compiled(nogil=True, error_model="numpy")


# --- the best of many ---


@kernel
def nth_largest(values, n):
    """About the n-th largest of whole numbers, by counting, never above it; 0 if too few."""
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
    """The k-th largest of the first ``n`` scores; minus infinity if there are fewer."""
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
    """Where a term's postings (from ``start`` to ``end``) leave the documents below ``limit``."""
    while start < end:
        middle = (start + end) // 2
        if docs[middle] < limit:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def chunk_maxima(values, chunk, lowest, out):
    """The maximum of every chunk of values; ``member`` tells which values are in a chunk.

    Chunks are interwoven, ``_WIDTH`` at a time, so that neighbours are compared with neighbours,
    many at once. Returns how many chunks there are; some of the last may be empty, and ``lowest``.
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
    """Where the i-th member of chunk ``c`` is."""
    return (c // _WIDTH) * (chunk * _WIDTH) + i * _WIDTH + c % _WIDTH


@kernel
def _merge(order, start, middle, end, docs, scores, out):
    """Merge two neighbouring stretches, best score first; of equal scores the greatest document."""
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
    """The best ``k`` in order; of equal scores the greatest document first."""
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
    """Add what documents get whatever their terms; those without a term get nothing."""
    for i in range(sums.size):
        if np.signbit(sums[i]):
            sums[i] = -np.inf
        elif g.size:
            sums[i] = sums[i] + g_weight * g[i] + constant
        else:
            sums[i] += constant


@kernel
def _leave_out(sums, banned, allowed):
    """Make those that may not be found worse than all others."""
    for i in range(sums.size):
        if banned[i] or (allowed.size and not allowed[i]):
            sums[i] = -np.inf


@kernel
def _collect_sums(sums, chunk_best, least, first, has_extra, found):
    """Append the documents that have a term and whose sum is at least ``least``."""
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
    """A number that at least ``n`` of the values reach, about the n-th largest, by counting."""
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
            return low + (level - 0.5) / scale  # half a level for what rounding may have moved
    return -np.inf


@kernel
def accumulate(prepared, terms, weights, extra, allowed, k, workspace):
    """The best ``k`` documents, as ``kernels.search`` gives them; weights are not negative.

    A sum starts as minus zero, which no addition of impacts leaves: so a document that has a
    term is known even where all its impacts are 0.
    """
    offsets, docs, _, _, _, impacts = prepared[0]
    row_of_term = prepared[1][0]
    g = prepared[3][0]
    g_weight, constant = extra
    has_extra = g.size > 0 or constant != 0
    frequent = row_of_term[terms] >= 0
    _, _, _, _, _, _, _, banned, found_docs, found_scores, all_sums = workspace
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
def place_of(doc, block):
    """Where a document's bound is: its range, then its place in the block, then the block."""
    local = doc % RANGE
    return (doc - local) + (local % block) * (RANGE // block) + local // block


@kernel
def places_of(docs, block, out):
    """``place_of`` for many."""
    for i in range(docs.size):
        out[i] = place_of(np.int64(docs[i]), block)


@kernel
def turn_round(offsets, docs, impacts, number_of_term, starts, terms_out, impacts_out):
    """The postings of some terms by document; terms stay in order. ``starts`` is used up.

    A term goes under the number it is given; one of -1 is left out.
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
    """The least whole number of units that is no less than each impact."""
    for i in range(impacts.size):
        n = np.int64(np.ceil(impacts[i] / unit))
        while n * unit < impacts[i]:
            n += 1
        out[i] = min(max(n, 1), 255)  # at least 1: a document that has the term can be told


@kernel
def fill_row(docs, bounds, block, row):
    """A frequent term's row: for each block of documents the maximum of their bounds."""
    for i in range(docs.size):
        at = docs[i] // block
        row[at] = max(row[at], bounds[i])


@kernel
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


@kernel
def _add_postings(bounds, places, levels, factor):
    """Add a rare term: ``factor`` is 256 times its units a level, rounded up."""
    for i in range(places.size):
        units = ((np.uint32(levels[i]) * factor) >> np.uint32(8)) + np.uint32(1)
        bounds[places[i] % np.uint32(RANGE)] += np.uint16(units)


@kernel
def _merge_blocks(bounds, blocks):
    for i in range(bounds.size):
        bounds[i] = np.uint16(bounds[i] + blocks[i])


@kernel
def _only_best(found, n, first, block, bounds, wanted):
    """Of the first ``n`` documents found, keep about the ``wanted`` with the highest bounds.

    Returns how many were kept and the bound that all of these have, and no other one.
    """
    mine = np.empty(n, np.uint16)
    for i in range(n):
        mine[i] = bounds[place_of(found[i] - first, block)]
    need = nth_largest(mine, wanted)
    kept = 0
    for i in range(n):
        if mine[i] >= need:
            found[kept] = found[i]
            kept += 1
    return kept, need


@kernel
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


@kernel
def _whole(number):
    """Rounded up, but no further than what can never fit: a larger one may be no integer."""
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


@kernel
def _frequent_score(doc, by_frequent, row_weights):
    """The sum over the document's frequent terms; minus zero if the query has none of them.

    A term that the query has not weighs minus zero, which leaves any sum as it is: so no term
    needs to be asked about, and a sum that is still minus zero has met none of the query's.
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
    """The sum with the document's rare terms, in the order of terms.

    ``asked`` has a bit for each term: it stays in the nearest cache, where most terms of a
    document are found not to be asked for.
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
    """Fetch a run of an array; ``step`` is how many of its items fill a line of the cache."""
    while start < end:
        _prefetch(array, start)
        start += step


@kernel
def _score_found(found_docs, found_scores, first, last, forward, query, by_postings):
    """Score the documents from ``first`` to ``last``: frequent terms first, then rare ones.

    Their terms lie all over memory, so they are fetched a few documents ahead. Where many are
    to be scored, rare terms are not looked for in each document, but the other way round.
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
    """Add the rare terms to the scores of the documents found, going through their postings."""
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
def _collect(bounds, chunk, chunk_best, need, upper, first, step, may, found, n):
    """Append the documents whose bound is at least ``need`` and below ``upper``."""
    allowed, banned = may
    for c in range(chunk_best.size):
        if chunk_best[c] < need:
            continue
        for i in range(chunk):
            at = member(c, i, chunk)
            if at < bounds.size and need <= bounds[at] < upper:
                doc = first + at * step
                if doc < banned.size and not banned[doc] and (allowed.size == 0 or allowed[doc]):
                    found[n] = doc
                    n += 1
    return n


@kernel
def search(prepared, block, terms, weights, extra, allowed, k, workspace):
    """The best ``k`` documents: numbers and scores, best first, ties by number, greatest first.

    ``terms`` ascend, weights are above 0; ``extra`` is the weight of g and the constant.
    ``allowed`` is empty, or says of each document whether it may be found; those marked in the
    workspace's ``banned`` may not either.
    """
    by_term, by_row, forward, by_document = prepared
    offsets, docs, places, levels, maxima, impacts = by_term
    row_of_term, rows, row_unit, row_maxima = by_row
    g, g_levels, g_low, g_unit = by_document
    g_weight, constant = extra
    (
        bounds, blocks, chunk_best, asked, slot_of_term, slot_of_doc, row_weights, banned,
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
    width = RANGE // block
    n_found, threshold, wanted = np.int64(0), -np.inf, np.int64(0)
    for first in range(0, documents, RANGE):
        n_blocks = (min(RANGE, documents - first) + block - 1) // block
        n_chunks = 0
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
                    end = end_of_range(docs, at[t], end, first + RANGE)
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
            n_chunks = chunk_maxima(
                bounds[j * width : j * width + n_blocks], chunk, 0, chunk_best[j * n_chunks :]
            )

        upper = np.int64(65_536)
        for look in range(3):
            if n_found >= k:
                rounding = 1e-15 * (abs(threshold) + abs(base))
                reach = np.floor((threshold - base - rounding) / unit) - 1.0
                need = np.int64(min(max(reach, 1.0), 65_536.0))
            elif look == 0:
                wanted = k + k // 16 + 16 if block == 1 else 2 * k + 60
                need = max(nth_largest(chunk_best[: block * n_chunks], wanted), 1)
            else:
                need = np.int64(1)
            if need >= upper:
                break
            n = n_found
            for j in range(block):
                n = _collect(
                    bounds[j * width : j * width + n_blocks], chunk,
                    chunk_best[j * n_chunks : (j + 1) * n_chunks], need, upper,
                    first + j, block, (allowed, banned), found_docs, n,
                )  # fmt: skip
            if look == 0 and n_found == 0 and n > wanted:
                n, higher = _only_best(found_docs, n, first, block, bounds, wanted)
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
    """Begin the bounds with what the documents get whatever their terms."""
    for i in range(bounds.size):
        bounds[i] = np.uint16(((np.uint32(levels[i]) * factor) >> np.uint32(8)) + np.uint32(1))


@kernel
def _is_sparse(prepared, block, terms, k):
    """Whether adding up all impacts is less work than bounds and scoring; in nanoseconds."""
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
    scored = min(k + 50 if block == 1 else 3 * k + 100, documents)
    bounded = 3.0 * rare + 0.12 * rows * (documents // block) + 0.4 * documents + 250.0 * scored
    return 2.2 * postings + 2.0 * documents + 100.0 * k < bounded


@kernel
def search_many(prepared, block, queries, excluded, allowed, k, workspace, out):
    """``search`` for many queries, given one after another; fills ``out`` row by row.

    ``queries``: where each begins, their terms and weights, the weights of g, the constants;
    ``excluded``: where each query's documents begin that it must not find, and these.
    """
    starts, terms, weights, g_weights, constants = queries
    excluded_starts, excluded_docs = excluded
    out_docs, out_scores, out_counts = out
    banned = workspace[7]
    for q in range(starts.size - 1):
        a, b = starts[q], starts[q + 1]
        extra = (g_weights[q], constants[q])
        for i in range(excluded_starts[q], excluded_starts[q + 1]):
            banned[excluded_docs[i]] = 1
        if _is_sparse(prepared, block, terms[a:b], k):
            docs, scores = accumulate(
                prepared, terms[a:b], weights[a:b], extra, allowed, k, workspace
            )
        else:
            docs, scores = search(
                prepared, block, terms[a:b], weights[a:b], extra, allowed, k, workspace
            )
        for i in range(excluded_starts[q], excluded_starts[q + 1]):
            banned[excluded_docs[i]] = 0
        for i in range(docs.size):
            out_docs[q, i], out_scores[q, i] = docs[i], scores[i]
        out_counts[q] = docs.size


@kernel
def contributions(offsets, docs, impacts, terms, wanted, table):
    """Fill a table with what each term (column) adds to each document (row); ``wanted`` rise."""
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
    """Have a search compiled, by one for nothing in nothing: a minute, once on a machine."""
    i64, i32, u32, u16, u8, f64, f32 = (
        np.zeros(1, kind)
        for kind in (np.int64, np.int32, np.uint32, np.uint16, np.uint8, np.float64, np.float32)
    )
    two = np.zeros(2, np.int64)
    prepared = (
        (two, u32[:0], u32[:0], u8[:0], f64, f32[:0]),
        (i32, np.zeros((1, 1), np.uint8), 1.0, u8),
        ((two, u16[:0], f32[:0]), (two, u32[:0], f32[:0])),
        (f64[:0], u8[:0], 0.0, 1.0),
    )
    workspace = (
        np.zeros(RANGE, np.uint16), np.zeros(RANGE, np.uint16),
        np.zeros(RANGE // 16 + 512, np.uint16), u32, i32, i32, f64, u8, i64, f64,
        np.zeros(SUMS),
    )  # fmt: skip
    out = (np.empty((1, 1), np.int64), np.empty((1, 1)), i64)
    search_many(
        prepared, 1, (two, i64[:0], f64[:0], f64, f64), (two, i64[:0]), np.zeros(0, bool), 1,
        workspace, out,
    )  # fmt: skip
    _compile_preparing(two, u32[:0], f32[:0])


def _compile_preparing(offsets, docs, impacts):
    """Have compiled what makes an index ready for searches, in the types that it has there."""
    bounds, chosen = np.zeros(0, np.uint8), np.zeros(1, np.int32)
    for values in (impacts, np.zeros(0)):
        quantise(values, 1.0, bounds)
    for numbers in (docs, np.zeros(0, np.int64)):
        places_of(numbers, 2, np.empty_like(numbers))
    fill_row(docs, bounds, 1, bounds)
    none = np.zeros(0, np.int64)
    contributions(offsets, docs, impacts, none, none, np.zeros((0, 0)))
    for kind in (np.uint16, np.uint32):
        turn_round(offsets, docs, impacts, chosen, offsets[:-1], np.zeros(0, kind), impacts)
