"""The rows of `fused-programs.ts` with CuPy, PyTorch (eager, and `torch.compile`) and JAX, as their users write them: attention by the
library's own function where it has one, CuPy's loops by `fuse` or a kernel of the user's, filters of its `ndimage`. A JSON line for each, with
milliseconds by the host's clock from calls on arrays that lie on the device to the end of the last one.

    python3 bench/peers-fused.py --peer cupy|torch|torch-compile|jax [--only a,b] [--scale small] [--seconds 0.3]
"""

import argparse
import json
import math
import os
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("--peer", required=True, choices=["cupy", "torch", "torch-compile", "jax"])
parser.add_argument("--only", default="")
parser.add_argument("--scale", default="full", choices=["full", "small"])
parser.add_argument("--seconds", type=float, default=0.3)
options = parser.parse_args()
ONLY = set(filter(None, options.only.split(",")))
INNER = 8
NEAR = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
WEIGHTS = [-128 / 30, 14 / 30, 3 / 30, 1 / 30]

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def size(full, small):
    return full if options.scale == "full" else small


class CuPy:
    def __init__(self):
        import cupy

        self.xp = self.np = cupy
        self.finish = lambda _: cupy.cuda.Device().synchronize()
        self.free = cupy.get_default_memory_pool().free_all_blocks

    def uniform(self, shape, low, high, dtype):
        return (self.xp.random.random(shape, dtype="float32") * (high - low) + low).astype(dtype)

    def attention(self, causal):
        xp = self.xp

        def call(q, k, v):
            scores = q @ k.swapaxes(1, 2) / xp.float32(math.sqrt(q.shape[-1])).astype(q.dtype)
            if causal:
                place = xp.arange(q.shape[1])
                scores = xp.where(place[:, None] >= place, scores, xp.asarray(-xp.inf, q.dtype))
            scores -= scores.max(-1, keepdims=True)
            xp.exp(scores, out=scores)
            scores /= scores.sum(-1, keepdims=True)
            return scores @ v

        return call

    def rk4(self):
        step = self.xp.fuse(kernel_name="runge_kutta")(lambda x, y, z: tuple(runge_kutta((x, y, z))))
        return lambda state: self.xp.stack(step(*state))

    def hsv(self, whole):
        kernel = self.xp.ElementwiseKernel(
            "raw T image",
            "raw float32 result",
            """
            float scale = sizeof(T) == 1 ? 1.0f / 255.0f : 1.0f;
            float r = image[3 * i] * scale, g = image[3 * i + 1] * scale, b = image[3 * i + 2] * scale;
            float most = fmaxf(fmaxf(r, g), b), range = most - fminf(fminf(r, g), b), safe = range == 0 ? 1 : range;
            float red = (g - b) / safe;
            float sector = most == r ? (red < 0 ? red + 6 : red) : most == g ? (b - r) / safe + 2 : (r - g) / safe + 4;
            result[3 * i] = sector / 6; result[3 * i + 1] = most == 0 ? 0 : range / most; result[3 * i + 2] = most;
            """,
            "rgb_to_hsv",
        )

        def call(image):
            result = self.xp.empty(image.shape, "float32")
            return kernel(image, result, size=image.size // 3)

        return call

    def stencil(self):
        from cupyx.scipy import ndimage

        weights = self.xp.asarray([0.1 * WEIGHTS[sum(map(abs, at))] for at in NEAR], "float32").reshape(3, 3, 3)
        weights[1, 1, 1] += 1
        return lambda x: ndimage.correlate(x, weights, mode="wrap")

    def z_score(self, width):
        from cupyx.scipy import ndimage

        finish = self.xp.fuse(kernel_name="score")(lambda x, mean, square: (x - mean) / (square - mean * mean) ** 0.5)

        def call(x):
            origin = (width - 1) // 2
            means = [ndimage.uniform_filter1d(each, width, origin=origin) for each in (x, x * x)]
            return finish(x, *means)[width - 1 :]

        return call

    def bands(self, count):
        return lambda x: self.xp.histogram(x, bins=count, range=(0, 1))[0]

    def compiled(self, call):
        return call


class Arrays:
    """PyTorch and JAX: the same expressions, compiled whole."""

    def rk4(self):
        return self.compiled(lambda state: self.stack(runge_kutta([state[k] for k in range(3)]), 0))

    def hsv(self, whole):
        xp = self.np

        def call(image):
            image = self.cast(image, xp.float32) / 255 if whole else image
            r, g, b = (image[..., k] for k in range(3))
            most = xp.maximum(xp.maximum(r, g), b)
            span = most - xp.minimum(xp.minimum(r, g), b)
            safe = xp.where(span == 0, 1.0, span)
            red = (g - b) / safe
            other = xp.where(most == g, (b - r) / safe + 2, (r - g) / safe + 4)
            sector = xp.where(most == r, xp.where(red < 0, red + 6, red), other)
            return self.stack([sector / 6, xp.where(most == 0, 0.0, span / most), most], -1)

        return self.compiled(call)

    def stencil(self):
        def call(x):
            terms = [self.np.roll(x, at, (0, 1, 2)) * WEIGHTS[sum(map(abs, at))] for at in NEAR]
            return x + 0.1 * sum(terms[1:], terms[0])

        return self.compiled(call)

    def z_score(self, width):
        def call(x):
            count = x.shape[0] - width + 1

            def mean(of):
                return sum((of[k : k + count] for k in range(1, width)), of[:count]) / width

            average = mean(x)
            return (x[width - 1 :] - average) / (mean(x * x) - average * average) ** 0.5

        return self.compiled(call)

    def bands(self, count):
        masks = [(k / count, (k + 1) / count) for k in range(count)]
        return self.compiled(lambda x: self.stack([((x >= low) & (x < high)).sum() for low, high in masks], 0))


class Torch(Arrays):
    def __init__(self, isCompiled):
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        self.np, self.stack = torch, torch.stack
        self.compiled = (lambda call: torch.compile(call, dynamic=False)) if isCompiled else (lambda call: call)
        self.finish = lambda _: torch.cuda.synchronize()
        self.free = lambda: (torch.cuda.empty_cache(), torch._dynamo.reset())

    def cast(self, x, dtype):
        return x.to(dtype)

    def uniform(self, shape, low, high, dtype):
        return (self.np.rand(shape, device="cuda") * (high - low) + low).to(getattr(self.np, dtype))

    def attention(self, causal):
        from torch.nn.functional import scaled_dot_product_attention as attend

        return self.compiled(lambda q, k, v: attend(q[None], k[None], v[None], is_causal=causal)[0])


class Jax(Arrays):
    def __init__(self):
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax, self.np = jax, jax.numpy
        self.stack, self.compiled, self.finish = jax.numpy.stack, jax.jit, jax.block_until_ready
        self.free = lambda: None

    def cast(self, x, dtype):
        return x.astype(dtype)

    def uniform(self, shape, low, high, dtype):
        key = self.jax.random.key(1)
        return self.jax.random.uniform(key, shape, "float32", low, high).astype(dtype)

    def attention(self, causal):
        attend = self.jax.nn.dot_product_attention

        def call(q, k, v):
            # (heads, rows, width) to (1, rows, heads, width), which is that function's layout.
            halves = "cudnn" if q.dtype.itemsize == 2 else "xla"
            turned = (x.swapaxes(0, 1)[None] for x in (q, k, v))
            return attend(*turned, is_causal=causal, implementation=halves)[0].swapaxes(0, 1)

        return self.compiled(call)


def lorenz(state):
    x, y, z = state
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8 / 3) * z


def runge_kutta(state, h=0.01):
    def moved(by, step):
        return [a + step * b for a, b in zip(state, by)]

    k1 = lorenz(state)
    k2 = lorenz(moved(k1, h / 2))
    k3 = lorenz(moved(k2, h / 2))
    k4 = lorenz(moved(k3, h))
    return [a + h / 6 * (p + 2.0 * q + 2.0 * r + s) for a, p, q, r, s in zip(state, k1, k2, k3, k4)]


def cosine_row_max(peer):
    def call(x):
        lengths = peer.np.sqrt((x * x).sum(1))
        similar = x @ x.T / lengths[:, None] / lengths
        return similar.max(1) if options.peer in ("cupy", "jax") else similar.amax(1)

    return peer.compiled(call)


def covariance(peer):
    def call(x):
        centred = x - x.mean(0)
        return centred.T @ centred / (x.shape[0] - 1)

    return peer.compiled(call)


def rows(peer):
    """Names, shapes as Weft's lines have them, dtypes, calls, and low and high of inputs."""
    for shape in (size((16, 4096, 64), (2, 40, 16)), size((8, 16384, 128), (2, 300, 32))):
        for dtype in ("float16", "bfloat16"):
            if options.peer != "cupy" or dtype == "float16":
                yield "attention", shape, dtype, peer.attention(False), (-1, 1)
                yield "attention_causal", shape, dtype, peer.attention(True), (-1, 1)
        yield "attention", shape, "float32", peer.attention(False), (-1, 1)
    for width in (64, 256, 1024):
        yield "cosine_row_max", (size(16384, 200), width), "float32", cosine_row_max(peer), (-1, 1)
    if options.peer != "cupy":
        yield "cosine_row_max", (size(16384, 200), 256), "bfloat16", cosine_row_max(peer), (-1, 1)
    samples, image = (size(4_000_000, 4000), size(64, 8)), size((8192, 8192, 3), (64, 65, 3))
    yield "covariance", samples, "float32", covariance(peer), (0, 1)
    yield "runge_kutta", (3, size(10**7, 1000)), "float32", peer.rk4(), (-10, 30)
    yield "rgb_to_hsv", image, "float32", peer.hsv(False), (0, 1)
    yield "rgb_to_hsv_uint8", image, "uint8", peer.hsv(True), (0, 256)
    yield "stencil27", size((512, 512, 512), (10, 11, 12)), "float32", peer.stencil(), (0, 1)
    yield "rolling_z_score", (size(2**27, 2000),), "float32", peer.z_score(64), (0, 1)
    yield "bands_16", (size(2**28, 2**14),), "float32", peer.bands(16), (0, 1)


def milliseconds(peer, call, inner):
    def once(count):
        start = time.perf_counter()
        for _ in range(count):
            result = call()
        peer.finish(result)
        return (time.perf_counter() - start) * 1e3 / count

    first = once(1)
    once(1)
    once(inner)
    times, end = [], time.perf_counter() + options.seconds
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 200):
        times.append(once(inner))
    return first, times


def main():
    peers = {"cupy": CuPy, "torch": lambda: Torch(False), "torch-compile": lambda: Torch(True), "jax": Jax}
    peer = peers[options.peer]()
    for name, shape, dtype, call, (low, high) in rows(peer):
        if ONLY and name not in ONLY:
            continue
        line = {"workload": name, "peer": options.peer, "dtype": dtype, "shape": shape}
        try:
            count = 3 if name.startswith("attention") else 1
            inputs = [peer.uniform(shape if name != "rolling_z_score" else shape[:1], low, high, dtype) for _ in range(count)]
            first, times = milliseconds(peer, lambda: call(*inputs), INNER if count == 3 else 1)
            line |= {"ms_median": statistics.median(times), "ms_min": min(times), "first_ms": first}
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps(line), flush=True)
        inputs = None
        peer.free()


main()
