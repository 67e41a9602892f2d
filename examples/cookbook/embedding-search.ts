/**
 * Search among embeddings: the nearest of many unit vectors to each query by their cosines, one product and a selection.
 * Checked by queries that were made from known rows.
 */
import { compute, type Lazy, lazy, random, topK } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const [WIDTH, TOPICS, NEIGHBOURS] = [96, 12, 10];

const unit = (x: Lazy): Lazy => x.div(x.square().sum(1, { keepdims: true }).sqrt());

export async function embeddingSearch({ size, device }: Settings): Promise<Picture> {
  // Documents lie around topics; queries are documents with noise.
  const [middles, around, noise] = random.split(random.key(9), 3);
  const topics = random.normal(middles!, [TOPICS, WIDTH]);
  const topicOf = Array.from({ length: size }, (_, k) => Math.floor((k * TOPICS) / size));
  const documents = unit(topics.take(new Int32Array(topicOf), 0).add(random.normal(around!, [size, WIDTH])));
  const asked = Int32Array.from({ length: 4 * TOPICS }, (_, k) =>
    Math.floor(((k + 0.5) * size) / (4 * TOPICS)),
  );
  const exact = documents.take(asked, 0);
  const queries = unit(exact.add(random.normal(noise!, [asked.length, WIDTH]).mul(0.02)));

  const cosines = queries.matmul(documents.T);
  const { values, indices } = topK(cosines, NEIGHBOURS, { axis: 1 });
  const first = indices.slice(null, 0);
  const sameTopic = lazy(new Int32Array(topicOf))
    .take(indices, 0)
    .equal(lazy(new Int32Array(topicOf)).take(asked, 0).expandDims(1));
  const every = Math.max(1, Math.floor(size / 240));
  const found = await compute(
    {
      hits: first.equal(asked).mean(),
      same: sameTopic.mean(),
      order: values
        .slice(null, [0, -1])
        .sub(values.slice(null, [1, null]))
        .less(0)
        .sum(),
      self: documents.square().sum(1).mean(),
      picture: cosines.slice(null, [null, null, every]).repeat(5, 0),
    },
    { device },
  );
  check('queries whose document is found first', found.hits, 1, 0);
  check('neighbours of the same topic', found.same, 1, 0.02);
  check('neighbours behind farther ones', found.order, 0, 0);
  check('length of the documents', found.self, 1, 1e-12);
  return found.picture.toPNG({ range: [-0.2, 1], colors: 'heat' });
}
