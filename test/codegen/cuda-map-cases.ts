/** Maps for `cuda-cases.ts`. */
import type { Schedule } from '../../src/codegen/cuda/cuda.js';
import { KernelBuilder } from '../support/kernel-builder.js';

type Add = (name: string, builder: KernelBuilder, schedule?: Schedule) => void;

export function mapCases(add: Add): void {
  {
    const b = new KernelBuilder([5003]);
    const x = b.load('float32', [1]);
    const y = b.load('float32', [1]);
    const half = b.constant('float32', 0.5);
    add(
      'map flat with a tail',
      b.store(b.map('exp', b.map('add', b.map('multiply', half, b.map('sin', x)), b.map('cos', y)))),
    );
  }
  {
    const b = new KernelBuilder([1003]);
    const roots = (x: number): number => [1, 2, 3, 4].reduce((y) => b.map('sqrt', y), x);
    const small = b.map('multiply', b.load('float32', [1], { buffer: 'x' }), b.constant('float32', 1e-39));
    const large = b.map('exp', b.map('multiply', b.load('float32', [1]), b.constant('float32', 45)));
    add(
      'map of roots of anything',
      b
        .store(roots(b.load('float32', [1], { buffer: 'x' })))
        .store(roots(small))
        .store(roots(large)),
    );
  }
  {
    const b = new KernelBuilder([1000]);
    const large = b.map('exp', b.map('multiply', b.load('float32', [1]), b.constant('float32', 45)));
    const [two, five, six] = [2, 5, 6].map((value) => b.constant('float32', value)) as [
      number,
      number,
      number,
    ];
    const choice = b.map('where', b.map('greater', b.map('sqrt', large), two), five, six);
    add('map of roots behind a choice', b.store([1, 2, 3].reduce((y) => b.map('sqrt', y), choice)));
  }
  {
    const b = new KernelBuilder([]);
    add('map of one value', b.store(b.map('add', b.load('float64', []), b.constant('float64', 1.5))));
  }
  {
    const b = new KernelBuilder([3]);
    add('map shorter than a chunk', b.store(b.map('negative', b.load('int64', [1]))));
  }
  {
    const b = new KernelBuilder([37, 64]);
    const x = b.load('float32', [64, 1]);
    const row = b.load('float32', [0, 1]);
    const column = b.load('float32', [1, 0]);
    add('map with broadcasts', b.store(b.map('multiply', b.map('subtract', x, row), column)));
  }
  {
    const b = new KernelBuilder([37, 64]);
    const x = b.load('float32', [64, 1]);
    const column = b.map(
      'sqrt',
      b.map('abs', b.map('divide', b.load('float32', [0, 1]), b.constant('float32', 3))),
    );
    const place = b.cast(b.index([0, 1], 2), 'float32');
    const scaled = b.map('divide', b.map('subtract', x, b.load('float32', [1, 0])), column);
    add(
      'map of columns computed once',
      b
        .store(b.map('add', scaled, place))
        .store(b.map('negative', column))
        .store([1, 2, 3, 4].reduce((y) => b.map('sqrt', y), scaled)),
      { kind: 'map', width: 4, unroll: 4, threads: 256 },
    );
  }
  {
    const b = new KernelBuilder([13, 7, 11]);
    add(
      'map of three strided axes',
      b.store(b.map('add', b.load('float32', [200, 13, 1]), b.load('float32', [1, 0, 29])), [77, 11, 1]),
    );
  }
  {
    const b = new KernelBuilder([1000]);
    const x = b.load('float32', [1], { offset: 1, buffer: 'x' });
    add(
      'map of unaligned neighbours',
      b.store(b.map('subtract', x, b.load('float32', [1], { buffer: 'x' }))),
    );
  }
  {
    const b = new KernelBuilder([300]);
    add(
      'map reversed and strided',
      b.store(b.map('subtract', b.load('int32', [-1], { offset: 299 }), b.load('int32', [3]))),
    );
  }
  {
    const b = new KernelBuilder([20, 24]);
    const bounds = [
      { offset: -2, strides: [1, 0], size: 15 },
      { offset: -3, strides: [0, 1], size: 19 },
    ];
    const x = b.load('float32', [19, 1], { offset: -41, bounds });
    const inside = b.inside([{ offset: -4, strides: [1, 1], size: 30 }]);
    add('map of a padded load', b.store(b.map('where', inside, x, b.constant('float32', 7))));
  }
  {
    const b = new KernelBuilder([2000]);
    const x = b.load('float16', [1]);
    const y = b.load('bfloat16', [1]);
    const sum = b.map('add', b.cast(x, 'float32'), b.cast(y, 'float32'));
    add(
      'map of halves',
      b
        .store(b.cast(sum, 'float16'))
        .store(b.cast(sum, 'bfloat16'))
        .store(b.map('less', b.cast(x, 'float32'), b.cast(y, 'float32'))),
    );
  }
  {
    const b = new KernelBuilder([999]);
    const x = b.load('uint8', [1]);
    const y = b.load('bool', [1]);
    add('map of bytes', b.store(b.map('add', x, b.cast(y, 'uint8'))).store(b.map('logicalNot', y)));
  }
  {
    const b = new KernelBuilder([130]);
    const x = b.load('complex64', [1]);
    const y = b.load('complex128', [1]);
    add(
      'map of complex values',
      b
        .store(b.map('multiply', b.cast(x, 'complex128'), y))
        .store(b.map('abs', x))
        .store(b.map('conj', x)),
    );
  }
  {
    const b = new KernelBuilder([9, 40]);
    add(
      'map of indices',
      b.store(b.map('add', b.index([100, -1], 5), b.cast(b.constant('bool', true), 'int64'))),
    );
  }
  {
    const b = new KernelBuilder([70, 90]);
    add(
      'map with a transposed load',
      b.store(b.map('add', b.load('float32', [90, 1]), b.load('float32', [1, 70]))),
    );
  }
  {
    const b = new KernelBuilder([3, 68, 72]);
    add(
      'map with transposed loads of a batch',
      b.store(
        b.map(
          'add',
          b.map(
            'add',
            b.load('float64', [72 * 68, 1, 68]),
            b.cast(b.load('bool', [72 * 68, 1, 68]), 'float64'),
          ),
          b.load('float64', [0, 0, 1]),
        ),
      ),
    );
  }
}
