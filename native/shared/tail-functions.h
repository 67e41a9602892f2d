// Tails of the gamma, beta and Student's distributions and their inverses, in float64; after
// special-functions.h.
//
// Series and continued fractions (NIST DLMF 8.7.1, 8.9.2, 8.17.22), and for large parameters quadrature of
// the density in the logarithm of x, or of its odds, in which it is log-concave. Densities by deviances:
// Loader, "Fast and accurate computation of binomial probabilities" (2000).

/*
 * A distribution in u, the logarithm of x (gamma) or of its odds x / y (beta): the logarithm of its density
 * at u + w less that at u. `b` and `y` are 0 for gamma; of beta x is at most y.
 */
WEFT_DEVICE double weft_tail_drop(double a, double b, double x, double y, double w) {
  if (b == 0.0) return (a - x) * w - x * weft_expm1_less(w);
  return (a * y - b * x) * w - (a + b) * (weft_log1p_less(x * expm1(w)) + x * weft_expm1_less(w));
}

/* The probability beyond u on the side of `sign`, over the density at u. */
WEFT_DEVICE double weft_tail_quadrature(double a, double b, double x, double y, double sign) {
  const double nodes[16] = {0.04830766568773832, 0.1444719615827965, 0.23928736225213706, 0.33186860228212767,
                            0.42135127613063533, 0.5068999089322294, 0.5877157572407623,  0.6630442669302152,
                            0.7321821187402897,  0.7944837959679424, 0.84936761373257,    0.8963211557660521,
                            0.9349060759377397,  0.9647622555875064, 0.9856115115452684,  0.9972638618494816};
  const double weights[16] = {
      0.0965400885147278,  0.09563872007927486,  0.09384439908080457,  0.09117387869576389,
      0.08765209300440381, 0.08331192422694675,  0.07819389578707031,  0.0723457941088485,
      0.06582222277636185, 0.058684093478535544, 0.050998059262376175, 0.04283589802222668,
      0.03427386291302143, 0.02539206530926206,  0.01627439473090567,  0.007018610009470096};
  if (b > 0.0 && x > y) {
    const double first = a, below = x;
    a = b, b = first, x = y, y = below, sign = -sign;
  }
  const double slope = sign * (b == 0.0 ? x - a : b * x - a * y);
  const double curve = b == 0.0 ? x : (a + b) * x * y;
  double reach = 80.0 / (slope + hypot(slope, 9.0 * sqrt(curve)));
  double least = 0.0, most = 0.0;
  for (int k = 0; k < 60; ++k) {
    const double drop = -weft_tail_drop(a, b, x, y, sign * reach);
    if (drop > 34.0 && drop < 46.0) break;
    if (drop < 40.0)
      least = reach;
    else
      most = reach;
    reach = most == 0.0 ? 2.0 * reach : 0.5 * (least + most);
  }
  double sum = 0.0;
  for (int k = 0; k < 16; ++k) {
    const double middle = 0.5 * reach, offset = middle * nodes[k];
    sum += weights[k] * (exp(weft_tail_drop(a, b, x, y, sign * (middle - offset))) +
                         exp(weft_tail_drop(a, b, x, y, sign * (middle + offset))));
  }
  return 0.5 * reach * sum;
}

/* The density of log(x) under the gamma distribution: x^a exp(-x) / gamma(a). */
WEFT_DEVICE double weft_gamma_density(double a, double x) {
  if (a < 10.0) {
    if (x < 1e-290) return a * exp(a * log(x) - weft_lgamma1p(a));
    const double half = exp(-0.5 * x);
    if (half == 0.0) return 0.0;
    return a * half * (half * pow(x, a)) / tgamma(a + 1.0);
  }
  const double mean = (x - a) / a;
  const double deviance = mean < -0.9 ? log(x / a) - mean : weft_log1p_less(mean);
  return exp(a * deviance - weft_stirling_error(a)) * sqrt(a) * 0.3989422804014327;
}

/* One less the upper gamma function over gamma(a), for x up to 1: keeps the digits of small a. */
WEFT_DEVICE double weft_gamma_above_small(double a, double x) {
  double term = 1.0, sum = 0.0;
  for (int n = 1; n < 40; ++n) {
    term *= -x / n;
    sum += term / (a + n);
  }
  const double logarithm = a * log(x) - weft_lgamma1p(a);
  return -expm1(logarithm) - exp(logarithm) * a * sum;
}

/* The regularized incomplete gamma function, below x or above it. */
WEFT_DEVICE double weft_gamma_tail(double a, double x, bool above) {
  if (a != a || x != x || a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0)) return weft_undefined();
  const double infinite = weft_infinite();
  if (x == infinite) return a == infinite ? weft_undefined() : above ? 0.0 : 1.0;
  if (x == 0.0 || a == infinite) return above ? 1.0 : 0.0;
  if (a < 1e-300) return above ? 0.0 : 1.0;
  if (above && x <= 1.0) return weft_gamma_above_small(a, x);
  const double density = weft_gamma_density(a, x);
  const bool isAbove = x > a;
  double tail;
  if (a >= 60.0 && fabs(x - a) < 0.5 * a) {
    tail = density == 0.0 ? 0.0 : density * weft_tail_quadrature(a, 0.0, x, 0.0, isAbove ? 1.0 : -1.0);
  } else if (x > 1.0 && isAbove) {
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, value = d;
    for (int n = 1; n < 1000; ++n) {
      const double step = n * (a - n);
      b += 2.0;
      d = 1.0 / (step * d + b);
      c = b + step / c;
      value *= d * c;
      if (fabs(d * c - 1.0) < 1e-16) break;
    }
    tail = density == 0.0 ? 0.0 : density * value;
  } else {
    double term = 1.0, sum = 1.0;
    for (int n = 1; n < 1000; ++n) {
      term *= x / (a + n);
      sum += term;
      if (term < 1e-17 * sum) break;
    }
    tail = density / a * sum;
    return above ? 1.0 - tail : tail;
  }
  return isAbove == above ? tail : 1.0 - tail;
}

WEFT_DEVICE double weft_gammainc(double a, double x) { return weft_gamma_tail(a, x, false); }

WEFT_DEVICE double weft_gammaincc(double a, double x) { return weft_gamma_tail(a, x, true); }

/* The density of the log-odds under the beta distribution: x^a y^b / beta(a, b), y = 1 - x. */
WEFT_DEVICE double weft_beta_density(double a, double b, double x, double y) {
  const double n = a + b, d = b * x - a * y;
  const double first = d / a, second = -d / b;
  const double left = first < -0.9 ? log(x) + log(n / a) - first : weft_log1p_less(first);
  const double right = second < -0.9 ? log(y) + log(n / b) - second : weft_log1p_less(second);
  const double errors = weft_stirling_error(n) - weft_stirling_error(a) - weft_stirling_error(b);
  return exp(errors + a * left + b * right) * sqrt(a) * sqrt(b / n) * 0.3989422804014327;
}

/* The regularized incomplete beta function of x and y = 1 - x: the probability below x, or above it. */
WEFT_DEVICE double weft_beta_tail(double a, double b, double x, double y, bool above) {
  if (!(a >= 0.0 && b >= 0.0 && x >= 0.0 && y >= 0.0) || (a == 0.0 && b == 0.0)) return weft_undefined();
  const double infinite = weft_infinite();
  if (a == infinite && b == infinite) return weft_undefined();
  if (x == 0.0) return above ? 1.0 : 0.0;
  if (y == 0.0) return above ? 0.0 : 1.0;
  if (a < 1e-300 || b == infinite) return above ? 0.0 : 1.0;
  if (b < 1e-300 || a == infinite) return above ? 1.0 : 0.0;
  const double density = weft_beta_density(a, b, x, y);
  /* The side of the mean, which x and y tell to their last digit. */
  const double beyond = a * y - b * x;
  if (beyond > 0.0 ? a >= 60.0 && beyond < 0.5 * a : b >= 60.0 && -beyond < 0.5 * b) {
    const bool isAbove = beyond < 0.0;
    const double tail =
        density == 0.0 ? 0.0 : density * weft_tail_quadrature(a, b, x, y, isAbove ? 1.0 : -1.0);
    return isAbove == above ? tail : 1.0 - tail;
  }
  const bool isAbove = y * (a + b + 2.0) < b + 1.0;
  if (isAbove) {
    const double other = a, beside = x;
    a = b, b = other, x = y, y = beside;
  }
  const double n = a + b;
  double c = 1.0, d = 1.0 / (1.0 - n * x / (a + 1.0)), value = d;
  for (int m = 1; m < 5000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
    d = 1.0 / (1.0 + even * d);
    c = 1.0 + even / c;
    value *= d * c;
    const double odd = -(a + m) * (n + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
    d = 1.0 / (1.0 + odd * d);
    c = 1.0 + odd / c;
    value *= d * c;
    if (fabs(d * c - 1.0) < 1e-16) break;
  }
  const double tail = density == 0.0 ? 0.0 : density * value / a;
  return isAbove == above ? tail : 1.0 - tail;
}

WEFT_DEVICE double weft_betainc(double a, double b, double x) {
  return weft_beta_tail(a, b, x, 1.0 - x, false);
}

/*
 * The u of which the tail of the gamma (b = 0) or beta distribution is p, from a first guess: Newton's method
 * on the tail's logarithm, which is concave in u, so that each step but the first comes nearer.
 */
WEFT_DEVICE double weft_tail_inverse(double a, double b, double p, bool above, double u) {
  double known = log(b == 0.0 ? a : a / b);
  u = u < -744.0 ? -744.0 : u > 744.0 ? 744.0 : u;
  for (int k = 0; k < 60; ++k) {
    const double odds = exp(-fabs(u));
    const double large = 1.0 / (1.0 + odds), small = odds / (1.0 + odds);
    const double x = b == 0.0 ? exp(u) : u > 0.0 ? large : small, y = u > 0.0 ? small : large;
    const double tail = b == 0.0 ? weft_gamma_tail(a, x, above) : weft_beta_tail(a, b, x, y, above);
    const double density = b == 0.0 ? weft_gamma_density(a, x) : weft_beta_density(a, b, x, y);
    if (!(tail > 0.0 && density > 0.0)) {
      u = 0.5 * (u + known);
      continue;
    }
    known = u;
    const double step = log(tail / p) * tail / density;
    u += above ? step : -step;
    u = u < -744.0 ? -744.0 : u > 744.0 ? 744.0 : u;
    if (!(fabs(step) > 1e-15 * (1.0 + fabs(u)))) break;
  }
  return u;
}

/* Near the quantile of the normal distribution: that of the logistic one with its variance. */
WEFT_DEVICE double weft_normal_guess(double p) { return 0.5513288954217921 * (log(p) - log1p(-p)); }

WEFT_DEVICE double weft_gammaincinv(double a, double p) {
  if (!(a >= 0.0 && p >= 0.0 && p <= 1.0)) return weft_undefined();
  if (p == 0.0) return 0.0;
  if (p == 1.0) return weft_infinite();
  if (a == 0.0 || a == weft_infinite()) return weft_undefined();
  const bool above = p > 0.5;
  const double least = (log(p) + weft_lgamma1p(a)) / a;
  if (least < -700.0) return exp(least);
  const double t = 1.0 / (9.0 * a);
  const double root = 1.0 - t + weft_normal_guess(p) * sqrt(t);
  const double guess = root > 0.0 ? log(a) + 3.0 * log(root) : least;
  return exp(weft_tail_inverse(a, 0.0, above ? 1.0 - p : p, above, guess > least ? guess : least));
}

/* The log-odds of the quantile of the beta distribution, for 0 < p < 1. */
WEFT_DEVICE double weft_beta_logit(double a, double b, double p, bool above) {
  const double guess = log(a / b) + (above ? -1.0 : 1.0) * weft_normal_guess(p) * sqrt(1.0 / a + 1.0 / b);
  return weft_tail_inverse(a, b, p, above, guess);
}

WEFT_DEVICE double weft_betaincinv(double a, double b, double p) {
  const double infinite = weft_infinite();
  if (!(a > 0.0 && b > 0.0 && p >= 0.0 && p <= 1.0) || (a == infinite && b == infinite))
    return weft_undefined();
  if (p == 0.0 || p == 1.0) return p;
  if (a == infinite || b == infinite) return a == infinite ? 1.0 : 0.0;
  const double u = p > 0.5 ? weft_beta_logit(a, b, 1.0 - p, true) : weft_beta_logit(a, b, p, false);
  return u > 0.0 ? 1.0 / (1.0 + exp(-u)) : exp(u) / (1.0 + exp(u));
}

/* Student's t: the distribution function, and its quantile, of `df` degrees of freedom. */
WEFT_DEVICE double weft_stdtr(double df, double t) {
  if (!(df > 0.0) || t != t) return weft_undefined();
  const double square = t * t;
  if (square == weft_infinite()) return t > 0.0 ? 1.0 : 0.0;
  if (df == weft_infinite()) return 0.5 * erfc(-t * 0.7071067811865476);
  const double x = df / (df + square), y = square / (df + square);
  const double tail = 0.5 * weft_beta_tail(0.5 * df, 0.5, x, y, false);
  return t > 0.0 ? 1.0 - tail : tail;
}

WEFT_DEVICE double weft_stdtrit(double df, double p) {
  if (!(df > 0.0 && p >= 0.0 && p <= 1.0)) return weft_undefined();
  if (p == 0.0 || p == 1.0) return p == 0.0 ? -weft_infinite() : weft_infinite();
  if (p == 0.5) return 0.0;
  const double size = fabs(p - 0.5) * 2.0, tail = 2.0 * (p < 0.5 ? p : 1.0 - p);
  /* The log-odds of y = t^2 / (df + t^2): t^2 / df is their exponential. */
  const double u = df == weft_infinite() ? 0.0
                   : size < 0.5          ? weft_beta_logit(0.5, 0.5 * df, size, false)
                                         : weft_beta_logit(0.5, 0.5 * df, tail, true);
  const double t = df == weft_infinite() ? sqrt(2.0 * weft_gammaincinv(0.5, size)) : sqrt(df) * exp(0.5 * u);
  return p < 0.5 ? -t : t;
}
