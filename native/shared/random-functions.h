// Numbers of distributions that are drawn by rejection, in the C that C++ and CUDA C share: a pure function
// of a seed, the key of a Philox stream whose blocks are the attempts. Each step is an operation that IEEE
// 754 rounds, and products that meet a sum are fused or rounded by name, so that the CPU and a GPU give the
// same bits.
//
// Both define before: weft_words, weft_philox_block, weft_rounded_product, weft_log_exactly,
// weft_exp_exactly.

/* A uniform number in (0, 1) of 52 bits of two words. */
WEFT_INLINE double weft_open_unit(unsigned int high, unsigned int low) {
  const unsigned long long both = (unsigned long long)high << 32 | low;
  return fma((double)(both >> 12), 2.220446049250313e-16, 1.1102230246251565e-16);
}

/* A uniform number in (-1, 1) of a word. */
WEFT_INLINE double weft_signed_unit(unsigned int word) {
  return fma((double)(int)word, 4.656612873077393e-10, 2.3283064365386963e-10);
}

/*
 * The gamma distribution of shape a >= 1: Marsaglia and Tsang, "A simple method for generating gamma
 * variables" (2000). Two words of an attempt give a normal number by Marsaglia's polar method, two a uniform
 * one.
 */
WEFT_DEVICE double weft_gamma_attempts(unsigned long long seed, double a) {
  const double d = a - 0.3333333333333333;
  const double c = 1.0 / sqrt(weft_rounded_product(9.0, d));
  for (unsigned int attempt = 1; attempt < 10000u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    const double p = weft_signed_unit(word.x), q = weft_signed_unit(word.y);
    const double s = fma(p, p, weft_rounded_product(q, q));
    if (s >= 1.0) continue;
    const double z = weft_rounded_product(p, sqrt(weft_rounded_product(-2.0, weft_log_exactly(s)) / s));
    const double root = fma(c, z, 1.0);
    if (root <= 0.0) continue;
    const double v = weft_rounded_product(weft_rounded_product(root, root), root);
    const double u = weft_open_unit(word.z, word.w);
    const double square = weft_rounded_product(z, z);
    if (u < fma(-0.0331, weft_rounded_product(square, square), 1.0)) return weft_rounded_product(d, v);
    const double most = fma(0.5, square, weft_rounded_product(d, 1.0 - v + weft_log_exactly(v)));
    if (weft_log_exactly(u) < most) return weft_rounded_product(d, v);
  }
  return a;
}

/* log(u) / a for a uniform u, which a shape below 1 adds to the logarithm of a number of shape a + 1. */
WEFT_DEVICE double weft_gamma_boost(unsigned long long seed, double a) {
  const weft_words word = weft_philox_block(0ull, seed);
  return weft_log_exactly(weft_open_unit(word.x, word.y)) / a;
}

WEFT_DEVICE double weft_drawGamma(unsigned long long seed, double a) {
  if (!(a > 0.0)) return a == 0.0 ? 0.0 : weft_undefined();
  if (a >= 1.0) return weft_gamma_attempts(seed, a);
  return weft_rounded_product(weft_gamma_attempts(seed, a + 1.0),
                              weft_exp_exactly(weft_gamma_boost(seed, a)));
}

WEFT_DEVICE double weft_drawLogGamma(unsigned long long seed, double a) {
  if (!(a > 0.0)) return a == 0.0 ? -weft_infinite() : weft_undefined();
  if (a == weft_infinite()) return a;
  if (a >= 1.0) return weft_log_exactly(weft_gamma_attempts(seed, a));
  return weft_log_exactly(weft_gamma_attempts(seed, a + 1.0)) + weft_gamma_boost(seed, a);
}

/* log(k!) - k log(k) + k for a whole k >= 0: a table, and Stirling's series. */
WEFT_DEVICE double weft_factorial_rest(double k) {
  const double table[16] = {0.0,
                            1.0,
                            1.3068528194400546,
                            1.4959226032237258,
                            1.6328763858683832,
                            1.7403021806115442,
                            1.828694396641771,
                            1.9037903176782212,
                            1.9690705693065629,
                            2.0268062840554952,
                            2.0785616431350586,
                            2.12545984509181,
                            2.168334698205882,
                            2.207822206123445,
                            2.244418568125061,
                            2.2785183673077407};
  if (k < 16.0) return table[(int)k];
  const double x = 1.0 / weft_rounded_product(k, k);
  double value = fma(0.0008417508417508417, x, -0.0005952380952380953);
  value = fma(value, x, 0.0007936507936507937);
  value = fma(value, x, -0.002777777777777778);
  value = fma(value, x, 0.08333333333333333);
  return fma(0.5, weft_log_exactly(weft_rounded_product(6.283185307179586, k)), value / k);
}

/* k log(k / m) + m - k, which is not negative: by its series where k is near m (Loader, 2000). */
WEFT_DEVICE double weft_deviance(double k, double m) {
  if (k == 0.0) return m;
  const double difference = k - m;
  if (fabs(difference) >= weft_rounded_product(0.1, k + m))
    return fma(k, weft_log_exactly(k / m), -difference);
  const double v = difference / (k + m);
  const double square = weft_rounded_product(v, v);
  double term = weft_rounded_product(weft_rounded_product(2.0, k), v);
  double sum = weft_rounded_product(difference, v);
  for (int j = 3; j < 1000; j += 2) {
    term = weft_rounded_product(term, square);
    const double next = sum + term / (double)j;
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

/* The logarithm of the Poisson distribution's probability of k. */
WEFT_DEVICE double weft_poisson_log(double k, double mean) {
  return -weft_factorial_rest(k) - weft_deviance(k, mean);
}

/*
 * A Poisson number of a mean of at least 10: Hörmann, "The transformed rejection method for generating
 * Poisson random variables" (1993), PTRS.
 */
WEFT_DEVICE double weft_poisson_attempts(unsigned long long seed, double mean) {
  const double b = fma(2.53, sqrt(mean), 0.931);
  const double a = fma(0.02483, b, -0.059);
  const double most = 0.9277 - 3.6224 / (b - 2.0);
  const double scale = 1.1239 + 1.1328 / (b - 3.4);
  for (unsigned int attempt = 1; attempt < 10000u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    const double u = weft_open_unit(word.x, word.y) - 0.5, v = weft_open_unit(word.z, word.w);
    const double us = 0.5 - fabs(u);
    const double slope = weft_rounded_product(2.0, a) / us + b;
    const double k = floor(fma(slope, u, mean + 0.43));
    if (us >= 0.07 && v <= most) return k;
    if (k < 0.0 || (us < 0.013 && v > us)) continue;
    const double under = weft_rounded_product(v, scale) / (a / weft_rounded_product(us, us) + b);
    if (weft_log_exactly(under) <= weft_poisson_log(k, mean)) return k;
  }
  return floor(mean);
}

/* -1 where the mean is negative, NaN or above 2^62. */
WEFT_DEVICE double weft_drawPoisson(unsigned long long seed, double mean) {
  if (!(mean >= 0.0 && mean <= 4611686018427387904.0)) return -1.0;
  if (mean >= 10.0) return weft_poisson_attempts(seed, mean);
  const double none = weft_exp_exactly(-mean);
  for (unsigned int attempt = 1; attempt < 100u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    double u = weft_open_unit(word.x, word.y), p = none, k = 0.0;
    for (; u > p && k < 150.0; k += 1.0) {
      u -= p;
      p = weft_rounded_product(p, mean / (k + 1.0));
    }
    if (k < 150.0) return k;
  }
  return floor(mean);
}

/* The logarithm of the binomial distribution's probability of k, but for what does not depend on k. */
WEFT_DEVICE double weft_binomial_log(double k, double n, double p) {
  const double rest = n - k;
  const double errors = weft_factorial_rest(k) + weft_factorial_rest(rest);
  return -errors - weft_deviance(k, weft_rounded_product(n, p)) -
         weft_deviance(rest, weft_rounded_product(n, 1.0 - p));
}

/*
 * A binomial number of p <= 1/2 and n p >= 10: Hörmann, "The generation of binomial random variates" (1993),
 * BTRS.
 */
WEFT_DEVICE double weft_binomial_attempts(unsigned long long seed, double n, double p) {
  const double mean = weft_rounded_product(n, p);
  const double deviation = sqrt(weft_rounded_product(mean, 1.0 - p));
  const double b = fma(2.53, deviation, 1.15);
  const double a = fma(0.01, p, fma(0.0248, b, -0.0873));
  const double most = 0.92 - 4.2 / b;
  const double scale = weft_rounded_product(2.83 + 5.1 / b, deviation);
  const double mode = floor(weft_rounded_product(n + 1.0, p));
  const double highest = weft_binomial_log(mode, n, p);
  for (unsigned int attempt = 1; attempt < 10000u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    const double u = weft_open_unit(word.x, word.y) - 0.5, v = weft_open_unit(word.z, word.w);
    const double us = 0.5 - fabs(u);
    const double slope = weft_rounded_product(2.0, a) / us + b;
    const double k = floor(fma(slope, u, mean + 0.5));
    if (k < 0.0 || k > n) continue;
    if (us >= 0.07 && v <= most) return k;
    const double under = weft_rounded_product(v, scale) / (a / weft_rounded_product(us, us) + b);
    if (weft_log_exactly(under) <= weft_binomial_log(k, n, p) - highest) return k;
  }
  return mode;
}

/* A binomial number of p <= 1/2 and n p < 10, by inversion. */
WEFT_DEVICE double weft_binomial_search(unsigned long long seed, double n, double p) {
  const double q = 1.0 - p;
  const double logarithm = weft_log_exactly(q) - (q - 1.0 + p) / q;
  const double none = weft_exp_exactly(weft_rounded_product(n, logarithm)), odds = p / q;
  for (unsigned int attempt = 1; attempt < 100u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    double u = weft_open_unit(word.x, word.y), chance = none, k = 0.0;
    for (; u > chance && k < 150.0; k += 1.0) {
      u -= chance;
      chance = weft_rounded_product(chance, weft_rounded_product((n - k) / (k + 1.0), odds));
    }
    if (k < 150.0 && k <= n) return k;
  }
  return floor(weft_rounded_product(n, p));
}

/* -1 where n is negative, NaN or above 2^53, and where p is no probability. */
WEFT_DEVICE double weft_drawBinomial(unsigned long long seed, double trials, double p) {
  if (!(trials >= 0.0 && trials <= 9007199254740992.0 && p >= 0.0 && p <= 1.0)) return -1.0;
  const double n = floor(trials);
  const double less = p <= 0.5 ? p : 1.0 - p;
  const bool isSmall = weft_rounded_product(n, less) < 10.0;
  const double k = isSmall ? weft_binomial_search(seed, n, less) : weft_binomial_attempts(seed, n, less);
  return p <= 0.5 ? k : n - k;
}
