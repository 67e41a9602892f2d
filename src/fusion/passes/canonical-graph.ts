/** Canonical: the graph of some results with all that it reads and that is to be looked at. Made by `graph-building.ts`. */
import type { Site } from '../../graph/expr.js';
import type { Graph } from '../../graph/graph.js';
import type { StretchedCall } from '../../graph/row-stretches.js';
import type { RuntimeScalar } from '../../graph/runtime-scalar.js';
import type { CheckedStatus } from '../../graph/statuses.js';
import type { IndexCheck } from './index-check.js';
import type { SourceArray } from './source-array.js';

export interface Canonical {
  readonly graph: Graph;
  /** The arrays behind `source` nodes, by their number. */
  readonly sources: readonly SourceArray[];
  /** The constants that are given with each run, by position; those of the bodies of loops too. */
  readonly scalars: readonly RuntimeScalar[];
  /** Where the user made each node, by id; of one that stands at several places, the first of them. */
  readonly sites: ReadonlyMap<number, Site>;
  /** The further places of nodes that the user made more than once; equal constants are one. */
  readonly repeated: readonly (readonly [id: number, site: Site])[];
  readonly fingerprint: string;
  /** Index arrays that have to be within an axis before the graph runs. */
  readonly checks: readonly IndexCheck[];
  /** Calls that may fail, and what loops look at: their codes are the last outputs of the graph, behind the user's. */
  readonly statuses: readonly CheckedStatus[];
  /** Calls that can be cut by the rows of sparse matrices once it is known where those begin. */
  readonly stretched: readonly StretchedCall[];
}

/** Where nodes were made: by id, and those that were made again. */
interface Sites extends Pick<Canonical, 'repeated'> {
  readonly sites: readonly (Site | undefined)[];
}

export class CanonicalGraph implements Canonical {
  readonly graph: Graph;
  readonly sources: readonly SourceArray[];
  readonly scalars: readonly RuntimeScalar[];
  readonly repeated: Canonical['repeated'];
  readonly fingerprint: string;
  readonly checks: readonly IndexCheck[];
  readonly statuses: readonly CheckedStatus[];
  readonly stretched: Canonical['stretched'];
  /** By id. */
  readonly #sites: readonly (Site | undefined)[];
  #sitesById: ReadonlyMap<number, Site> | undefined;

  constructor(
    graph: Graph,
    { sites, repeated }: Sites,
    { sources, scalars }: Pick<Canonical, 'sources' | 'scalars'>,
    fingerprint: string,
    { checks, statuses, stretched }: Pick<Canonical, 'checks' | 'statuses' | 'stretched'>,
  ) {
    this.checks = checks;
    this.statuses = statuses;
    this.stretched = stretched;
    this.graph = graph;
    this.sources = sources;
    this.scalars = scalars;
    this.fingerprint = fingerprint;
    this.#sites = sites;
    this.repeated = repeated;
  }

  /** Made when it is asked for: errors and `explain()` do. */
  get sites(): ReadonlyMap<number, Site> {
    this.#sitesById ??= new Map(
      this.#sites.flatMap((site, id) => (site === undefined ? [] : [[id, site] as const])),
    );
    return this.#sitesById;
  }
}
