/**
 * Places the nodes of a directed graph in layers: each below all that it comes from (longest path), each layer in an
 * order that lets few edges cross (the mean of the places of neighbours, a few sweeps down and up). Positions are columns
 * and layers; `plan.js` draws them.
 *
 * Source: K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system structures",
 * IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981.
 */

/** @typedef {{ readonly from: string, readonly to: string }} Edge */

const SWEEPS = 6;
/** How the ids of bends begin. */
export const BEND = 'bend ';

/**
 * The layers of nodes, by id, and for each edge the ids from its begin to its end: one that passes layers has a bend in
 * each, which has a place there like a node.
 * @param {readonly string[]} ids
 * @param {readonly Edge[]} edges
 * @returns {{ layers: string[][], ways: string[][] }}
 */
export function layersOf(ids, edges) {
  const layer = longestPaths(ids, edges);
  /** @type {string[][]} */
  const layers = [];
  const put = (/** @type {string} */ id, /** @type {number} */ at) => {
    layers[at] ??= [];
    layers[at].push(id);
  };
  for (const id of ids) put(id, layer.get(id) ?? 0);
  const ways = edges.map(({ from, to }, k) => {
    const way = [from];
    for (let at = (layer.get(from) ?? 0) + 1; at < (layer.get(to) ?? 0); at++) {
      put(`${BEND}${k} ${at}`, at);
      way.push(`${BEND}${k} ${at}`);
    }
    return [...way, to];
  });
  const parts = ways.flatMap((way) => way.slice(1).map((to, k) => ({ from: way[k] ?? '', to })));
  const [above, below] = [neighbours(parts, 'to', 'from'), neighbours(parts, 'from', 'to')];
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    const order = isDown ? layers.keys() : [...layers.keys()].reverse();
    for (const at of order) reorder(layers, at, isDown ? above : below);
  }
  return { layers, ways };
}

/**
 * Of each node, the length of the longest path to it; edges of a circle count once.
 * @param {readonly string[]} ids
 * @param {readonly Edge[]} edges
 */
function longestPaths(ids, edges) {
  const layer = new Map(ids.map((id) => [id, 0]));
  const waiting = new Map(ids.map((id) => [id, 0]));
  for (const { to } of edges) waiting.set(to, (waiting.get(to) ?? 0) + 1);
  const next = neighbours(edges, 'from', 'to');
  const ready = ids.filter((id) => waiting.get(id) === 0);
  for (let k = 0; k < ready.length; k++) {
    const id = /** @type {string} */ (ready[k]);
    for (const to of next.get(id) ?? []) {
      layer.set(to, Math.max(layer.get(to) ?? 0, (layer.get(id) ?? 0) + 1));
      const left = (waiting.get(to) ?? 0) - 1;
      waiting.set(to, left);
      if (left === 0) ready.push(to);
    }
  }
  // An input stands just above what reads it first.
  for (const id of ids) {
    const readers = next.get(id) ?? [];
    if (edges.some(({ to }) => to === id) || readers.length === 0) continue;
    layer.set(id, Math.max(0, Math.min(...readers.map((to) => layer.get(to) ?? 0)) - 1));
  }
  return layer;
}

/**
 * @param {readonly Edge[]} edges
 * @param {'from' | 'to'} of
 * @param {'from' | 'to'} other
 * @returns {Map<string, string[]>}
 */
function neighbours(edges, of, other) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const edge of edges) {
    const list = found.get(edge[of]);
    if (list === undefined) found.set(edge[of], [edge[other]]);
    else list.push(edge[other]);
  }
  return found;
}

/**
 * Orders a layer by the mean place of each node's neighbours; those without any keep their place.
 * @param {string[][]} layers
 * @param {number} at
 * @param {Map<string, string[]>} next
 */
function reorder(layers, at, next) {
  const places = new Map(
    layers.flatMap((layer) =>
      layer.map((id, k) => /** @type {[string, number]} */ ([id, (k + 0.5) / layer.length])),
    ),
  );
  const layer = /** @type {string[]} */ (layers[at]);
  const means = new Map(
    layer.map((id) => {
      const others = next.get(id) ?? [id];
      return [id, others.reduce((sum, other) => sum + (places.get(other) ?? 0), 0) / others.length];
    }),
  );
  layer.sort((a, b) => (means.get(a) ?? 0) - (means.get(b) ?? 0));
}
