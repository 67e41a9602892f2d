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

/*
 * The logarithm of the probability of k good ones among n, but for a constant: those of binomial numbers of p
 * = n / (good + bad), k of good and n - k of bad trials (Loader, 2000).
 */
WEFT_DEVICE double weft_hypergeometric_log(double k, double good, double bad, double n) {
  const double all = good + bad, p = n / all, q = (all - n) / all;
  const double own = weft_deviance(k, weft_rounded_product(good, p)) +
                     weft_deviance(good - k, weft_rounded_product(good, q));
  const double other = weft_deviance(n - k, weft_rounded_product(bad, p)) +
                       weft_deviance(bad - n + k, weft_rounded_product(bad, q));
  const double rests = weft_factorial_rest(k) + weft_factorial_rest(good - k) + weft_factorial_rest(n - k) +
                       weft_factorial_rest(bad - n + k);
  return -(own + other + rests);
}

/* Good ones among at most 10 that are drawn one by one. */
WEFT_DEVICE double weft_hypergeometric_few(unsigned long long seed, double good, double all, double n) {
  double found = 0.0;
  for (unsigned int draw = 0; draw < 10u && (double)draw < n; ++draw) {
    const weft_words word = weft_philox_block(4ull * (1u + draw / 2u), seed);
    const double u = (draw & 1u) != 0u ? weft_open_unit(word.z, word.w) : weft_open_unit(word.x, word.y);
    if (weft_rounded_product(u, all - (double)draw) < good - found) found += 1.0;
  }
  return found;
}

/*
 * The same of n and `good` that are at most half of all: Stadlober, "Sampling from Poisson, binomial and
 * hypergeometric distributions: ratio of uniforms as a simple and fast alternative" (1989), HRUA.
 */
WEFT_DEVICE double weft_hypergeometric_attempts(unsigned long long seed, double good, double bad, double n) {
  const double all = good + bad, p = good / all;
  const double mean = weft_rounded_product(n, p);
  const double spared = weft_rounded_product((all - n) / (all - 1.0), weft_rounded_product(mean, 1.0 - p));
  const double deviation = sqrt(spared + 0.5);
  const double width = fma(1.7155277699214135, deviation, 0.8989161620588988);
  const double mode = floor(weft_rounded_product((n + 1.0) / (all + 2.0), good + 1.0));
  const double top = weft_hypergeometric_log(mode, good, bad, n);
  const double far = floor(fma(16.0, deviation, mean + 0.5));
  const double less = (n < good ? n : good) + 1.0, most = less < far ? less : far;
  for (unsigned int attempt = 1; attempt < 10000u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    const double x = weft_open_unit(word.x, word.y), y = weft_open_unit(word.z, word.w);
    const double place = mean + 0.5 + weft_rounded_product(width, y - 0.5) / x;
    if (!(place >= 0.0 && place < most)) continue;
    const double k = floor(place);
    const double height = weft_hypergeometric_log(k, good, bad, n) - top;
    if (weft_rounded_product(x, 4.0 - x) - 3.0 <= height) return k;
    if (weft_rounded_product(x, x - height) >= 1.0) continue;
    if (weft_rounded_product(2.0, weft_log_exactly(x)) <= height) return k;
  }
  return mode;
}

/* -1 where numbers are negative or NaN, n is above all of them, or all are above 2^53. */
WEFT_DEVICE double weft_drawHypergeometric(unsigned long long seed, double good, double bad, double count) {
  if (!(good >= 0.0 && bad >= 0.0 && count >= 0.0)) return -1.0;
  const double g = floor(good), b = floor(bad), n = floor(count), all = g + b;
  if (!(all <= 9007199254740992.0 && n <= all)) return -1.0;
  const bool isGood = g <= b, isDrawn = n <= all - n;
  const double less = isGood ? g : b, few = isDrawn ? n : all - n;
  double k = few <= 10.0 ? weft_hypergeometric_few(seed, less, all, few)
                         : weft_hypergeometric_attempts(seed, less, all - less, few);
  if (!isGood) k = few - k;
  return isDrawn ? k : g - k;
}

/* The arc cosine of -1 to 1: of arguments up to 1/2 by the power series of the arc sine. */
WEFT_DEVICE double weft_portable_acos(double x) {
  const double size = fabs(x);
  const bool isNear = size > 0.5;
  const double square = isNear ? weft_rounded_product(0.5, 1.0 - size) : weft_rounded_product(size, size);
  const double y = isNear ? sqrt(square) : size;
  double term = y, sum = y;
  for (int k = 1; k < 60; ++k) {
    const double odd = (double)(2 * k - 1);
    term = weft_rounded_product(weft_rounded_product(term, square), odd / (double)(2 * k));
    const double next = sum + term / (double)(2 * k + 1);
    if (next == sum) break;
    sum = next;
  }
  if (!isNear) return x < 0.0 ? 1.5707963267948966 + sum : 1.5707963267948966 - sum;
  const double angle = weft_rounded_product(2.0, sum);
  return x < 0.0 ? 3.141592653589793 - angle : angle;
}

/* The sum whose half a wrapped Cauchy distribution is about as concentrated as von Mises' of kappa. */
WEFT_DEVICE double weft_von_mises_shape(double kappa) {
  if (kappa < 1e-5) return 1.0 / kappa + kappa;
  const double r = 1.0 + sqrt(fma(weft_rounded_product(4.0, kappa), kappa, 1.0));
  const double rho = (r - sqrt(weft_rounded_product(2.0, r))) / weft_rounded_product(2.0, kappa);
  return fma(rho, rho, 1.0) / weft_rounded_product(2.0, rho);
}

/*
 * An angle of von Mises' distribution around 0: Best and Fisher, "Efficient simulation of the von Mises
 * distribution" (1979), whose cosine of a uniform angle is that of twice the angle of a point in a disk. From
 * 10^6 on a normal number over the root of kappa. NaN of no kappa.
 */
WEFT_DEVICE double weft_drawVonMises(unsigned long long seed, double kappa) {
  if (!(kappa >= 0.0)) return weft_undefined();
  const double shape = kappa > 1e-8 && kappa < 1e6 ? weft_von_mises_shape(kappa) : 1.0;
  for (unsigned int attempt = 1; attempt < 10000u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    const double p = weft_signed_unit(word.x), q = weft_signed_unit(word.y);
    if (kappa <= 1e-8) return weft_rounded_product(3.141592653589793, p);
    const double square = weft_rounded_product(q, q);
    const double s = fma(p, p, square);
    if (s >= 1.0) continue;
    if (kappa >= 1e6) {
      const double z = weft_rounded_product(p, sqrt(weft_rounded_product(-2.0, weft_log_exactly(s)) / s));
      return z / sqrt(kappa);
    }
    const double z = fma(p, p, -square) / s;
    const double w = fma(shape, z, 1.0) / (shape + z);
    const double y = weft_rounded_product(kappa, shape - w);
    const double v = weft_open_unit(word.z, word.w);
    const bool isIn = weft_rounded_product(y, 2.0 - y) >= v || weft_log_exactly(y / v) + 1.0 >= y;
    if (!isIn) continue;
    const double angle = weft_portable_acos(w < -1.0 ? -1.0 : w > 1.0 ? 1.0 : w);
    return (word.w & 1u) != 0u ? -angle : angle;
  }
  return 0.0;
}

/* (1 + 1/x)^power - 1 for x >= 1. */
WEFT_DEVICE double weft_next_power(double x, double power) {
  const double y = 1.0 / x;
  const double series = weft_rounded_product(y, fma(-0.5, y, 1.0));
  const double t = weft_rounded_product(power, x > 1e6 ? series : weft_log_exactly(1.0 + y));
  return t < 1e-5 ? weft_rounded_product(t, fma(0.5, t, 1.0)) : weft_exp_exactly(t) - 1.0;
}

/*
 * A number of Zipf's distribution, of probability k^-a / zeta(a), up to 2^62: Devroye, "Non-Uniform Random
 * Variate Generation" (1986), X.6.1. -1 of an a that is not above 1.
 */
WEFT_DEVICE double weft_drawZipf(unsigned long long seed, double a) {
  if (!(a > 1.0)) return -1.0;
  if (a >= 1000.0) return 1.0;
  const double power = a - 1.0;
  const double less = weft_exp_exactly(weft_rounded_product(-power, 42.97512519471661));
  const double most = weft_exp_exactly(weft_rounded_product(power, 0.6931471805599453));
  const double above = weft_next_power(1.0, power);
  for (unsigned int attempt = 1; attempt < 10000u; ++attempt) {
    const weft_words word = weft_philox_block(4ull * attempt, seed);
    const double u = weft_open_unit(word.x, word.y), v = weft_open_unit(word.z, word.w);
    const double chance = fma(u, less, 1.0 - u);
    const double x = floor(weft_exp_exactly(-weft_log_exactly(chance) / power));
    if (!(x >= 1.0 && x <= 4611686018427387904.0)) continue;
    const double next = weft_next_power(x, power);
    if (weft_rounded_product(weft_rounded_product(v, x), next / above) <= (next + 1.0) / most) return x;
  }
  return 1.0;
}
