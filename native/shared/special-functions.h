// Special functions of float64 in the C that C++ and CUDA C share: the CPU compiles them, `npm run build:ts`
// hands their text to generated code (scripts/make-device-functions.mjs). A function begins with WEFT_DEVICE
// at the start of a line; its comment stands before it.
//
// Coefficients are Taylor's and Chebyshev's, computed with 60 digits.

WEFT_DEVICE double weft_infinite() { return 1e300 * 1e300; }

WEFT_DEVICE double weft_undefined() { return weft_infinite() - weft_infinite(); }

/* log(1 + x) - x. */
WEFT_DEVICE double weft_log1p_less(double x) {
  if (!(x > -0.4 && x < 0.4)) return log1p(x) - x;
  const double r = x / (2.0 + x);
  const double y = r * r;
  double value = 0.06451612903225806;
  value = value * y + 0.06896551724137931;
  value = value * y + 0.07407407407407407;
  value = value * y + 0.08;
  value = value * y + 0.08695652173913043;
  value = value * y + 0.09523809523809523;
  value = value * y + 0.10526315789473684;
  value = value * y + 0.11764705882352941;
  value = value * y + 0.13333333333333333;
  value = value * y + 0.15384615384615385;
  value = value * y + 0.18181818181818182;
  value = value * y + 0.2222222222222222;
  value = value * y + 0.2857142857142857;
  value = value * y + 0.4;
  value = value * y + 0.6666666666666666;
  return r * (value * y - x);
}

/* exp(x) - 1 - x. */
WEFT_DEVICE double weft_expm1_less(double x) {
  if (!(x > -0.7 && x < 0.7)) return expm1(x) - x;
  double value = 2.8114572543455206e-15;
  value = value * x + 4.779477332387385e-14;
  value = value * x + 7.647163731819816e-13;
  value = value * x + 1.1470745597729725e-11;
  value = value * x + 1.6059043836821613e-10;
  value = value * x + 2.08767569878681e-09;
  value = value * x + 2.505210838544172e-08;
  value = value * x + 2.755731922398589e-07;
  value = value * x + 2.7557319223985893e-06;
  value = value * x + 2.48015873015873e-05;
  value = value * x + 0.0001984126984126984;
  value = value * x + 0.001388888888888889;
  value = value * x + 0.008333333333333333;
  value = value * x + 0.041666666666666664;
  value = value * x + 0.16666666666666666;
  value = value * x + 0.5;
  return value * x * x;
}

/* log(gamma(1 + a)) for a from -1/2 on. */
WEFT_DEVICE double weft_lgamma1p(double a) {
  if (!(a < 0.5)) return lgamma(1.0 + a);
  double value = -6.4229645638381e-11;
  value = value * a + 1.330476437424449e-10;
  value = value * a + -2.7595228851242334e-10;
  value = value * a + 5.731367241678862e-10;
  value = value * a + -1.1921401405860912e-09;
  value = value * a + 2.4836745438024785e-09;
  value = value * a + -5.183475041970047e-09;
  value = value * a + 1.0838659214896955e-08;
  value = value * a + -2.2711094608943164e-08;
  value = value * a + 4.7698101693639804e-08;
  value = value * a + -1.0043224823968099e-07;
  value = value * a + 2.1207184805554665e-07;
  value = value * a + -4.492469198764566e-07;
  value = value * a + 9.55141213040742e-07;
  value = value * a + -2.039215753801366e-06;
  value = value * a + 4.374866789907488e-06;
  value = value * a + -9.439488275268397e-06;
  value = value * a + 2.050721277567069e-05;
  value = value * a + -4.492623673813314e-05;
  value = value * a + 9.945751278180853e-05;
  value = value * a + -0.00022315475845357939;
  value = value * a + 0.0005096695247430425;
  value = value * a + -0.001192753911703261;
  value = value * a + 0.0028905103307415234;
  value = value * a + -0.007385551028673986;
  value = value * a + 0.020580808427784546;
  value = value * a + -0.0673523010531981;
  value = value * a + 0.3224670334241132;
  return a * (0.42278433509846713 + a * value) - log1p(a);
}

/* log(gamma(a + 1)) less Stirling's formula, for a > 0. */
WEFT_DEVICE double weft_stirling_error(double a) {
  if (a < 10.0) return weft_lgamma1p(a) - ((a + 0.5) * log(a) - a) - 0.9189385332046727;
  const double x = 1.0 / (a * a);
  double value = 0.17964437236883057;
  value = value * x + -0.029550653594771242;
  value = value * x + 0.00641025641025641;
  value = value * x + -0.0019175269175269176;
  value = value * x + 0.0008417508417508417;
  value = value * x + -0.0005952380952380953;
  value = value * x + 0.0007936507936507937;
  value = value * x + -0.002777777777777778;
  value = value * x + 0.08333333333333333;
  return value / a;
}

WEFT_DEVICE double weft_digamma(double x) {
  double beside = 0.0;
  if (x <= 0.0) {
    if (x == 0.0) return x - weft_infinite() * copysign(1.0, x);
    if (floor(x) == x) return weft_undefined();
    beside = -3.141592653589793 / tan(3.141592653589793 * (x - rint(x)));
    x = 1.0 - x;
  }
  const double d = x - 1.4616321449683622 - 9.549995429965697e-17;
  if (d > -0.35 && d < 0.35) {
    double value = 2.424006611860132e-05;
    value = value * d + -3.5430070947659604e-05;
    value = value * d + 5.178575795222081e-05;
    value = value * d + -7.569179582195066e-05;
    value = value * d + 0.0001106337276874741;
    value = value * d + -0.00016170622091974803;
    value = value * d + 0.00023635601564027053;
    value = value * d + -0.0003454680251063077;
    value = value * d + 0.000504953265834602;
    value = value * d + -0.0007380709389960052;
    value = value * d + 0.0010788252019162967;
    value = value * d + -0.0015769367714301972;
    value = value * d + 0.002305126326734928;
    value = value * d + -0.003369801655439328;
    value = value * d + 0.004926781395729853;
    value = value * d + -0.007204534386356869;
    value = value * d + 0.010538791616612175;
    value = value * d + -0.01542476590494896;
    value = value * d + 0.022597648232218104;
    value = value * d + -0.03316112647484736;
    value = value * d + 0.04880428816414311;
    value = value * d + -0.07219956125645471;
    value = value * d + 0.10782405069126237;
    value = value * d + -0.16394270544240652;
    value = value * d + 0.258499760955651;
    value = value * d + -0.4427631689835921;
    value = value * d + 0.9676722454476212;
    return value * d + beside;
  }
  for (; x < 12.0; x += 1.0) beside -= 1.0 / x;
  const double y = 1.0 / (x * x);
  double value = -3.0539543302701198;
  value = value * y + 0.4432598039215686;
  value = value * y + -0.08333333333333333;
  value = value * y + 0.021092796092796094;
  value = value * y + -0.007575757575757576;
  value = value * y + 0.004166666666666667;
  value = value * y + -0.003968253968253968;
  value = value * y + 0.008333333333333333;
  value = value * y + -0.08333333333333333;
  return log(x) - 0.5 / x + value * y + beside;
}

/* The modified Bessel function of order 0, times exp(-x), for x >= 0: by its power series, and Chebyshev's
 * from 8 on. */
WEFT_DEVICE double weft_bessel_i0(double x) {
  if (x <= 8.0) {
    const double y = 0.25 * x * x;
    double value = 1.2791526049282477e-62;
    value = value * y + 1.0757673407446564e-59;
    value = value * y + 8.434015951438106e-57;
    value = value * y + 6.14839762859838e-54;
    value = value * y + 4.156316796932504e-51;
    value = value * y + 2.5976979980828152e-48;
    value = value * y + 1.4962740468957016e-45;
    value = value * y + 7.915289708078262e-43;
    value = value * y + 3.8310002187098785e-40;
    value = value * y + 1.6894710964510564e-37;
    value = value * y + 6.757884385804225e-35;
    value = value * y + 2.4395962632753253e-32;
    value = value * y + 7.904291893012054e-30;
    value = value * y + 2.2843403570804838e-27;
    value = value * y + 5.8479113141260385e-25;
    value = value * y + 1.3157800456783586e-22;
    value = value * y + 2.5789288895295828e-20;
    value = value * y + 4.358389823304995e-18;
    value = value * y + 6.276081345559193e-16;
    value = value * y + 7.594058428126623e-14;
    value = value * y + 7.594058428126624e-12;
    value = value * y + 6.151187326782565e-10;
    value = value * y + 3.936759889140842e-08;
    value = value * y + 1.9290123456790124e-06;
    value = value * y + 6.944444444444444e-05;
    value = value * y + 0.001736111111111111;
    value = value * y + 0.027777777777777776;
    value = value * y + 0.25;
    value = value * y + 1.0;
    value = value * y + 1.0;
    return value * exp(-x);
  }
  const double t = 16.0 / x - 1.0;
  double before = 0.0, value = 0.0, above;
  above = 2.0 * t * value - before + 1.193650890845982e-18, before = value, value = above;
  above = 2.0 * t * value - before + 9.921475412173699e-19, before = value, value = above;
  above = 2.0 * t * value - before + -7.233180487874754e-18, before = value, value = above;
  above = 2.0 * t * value - before + -4.830504485944182e-18, before = value, value = above;
  above = 2.0 * t * value - before + 4.46562142029676e-17, before = value, value = above;
  above = 2.0 * t * value - before + 3.461222867697461e-17, before = value, value = above;
  above = 2.0 * t * value - before + -2.8276239805165836e-16, before = value, value = above;
  above = 2.0 * t * value - before + -3.425485619677219e-16, before = value, value = above;
  above = 2.0 * t * value - before + 1.7725601330565263e-15, before = value, value = above;
  above = 2.0 * t * value - before + 3.8116806693526224e-15, before = value, value = above;
  above = 2.0 * t * value - before + -9.554846698828307e-15, before = value, value = above;
  above = 2.0 * t * value - before + -4.150569347287222e-14, before = value, value = above;
  above = 2.0 * t * value - before + 1.54008621752141e-14, before = value, value = above;
  above = 2.0 * t * value - before + 3.8527783827421426e-13, before = value, value = above;
  above = 2.0 * t * value - before + 7.180124451383666e-13, before = value, value = above;
  above = 2.0 * t * value - before + -1.7941785315068062e-12, before = value, value = above;
  above = 2.0 * t * value - before + -1.3215811840447713e-11, before = value, value = above;
  above = 2.0 * t * value - before + -3.1499165279632416e-11, before = value, value = above;
  above = 2.0 * t * value - before + 1.1889147107846439e-11, before = value, value = above;
  above = 2.0 * t * value - before + 4.94060238822497e-10, before = value, value = above;
  above = 2.0 * t * value - before + 3.3962320257083865e-09, before = value, value = above;
  above = 2.0 * t * value - before + 2.266668990498178e-08, before = value, value = above;
  above = 2.0 * t * value - before + 2.0489185894690638e-07, before = value, value = above;
  above = 2.0 * t * value - before + 2.8913705208347567e-06, before = value, value = above;
  above = 2.0 * t * value - before + 6.889758346916825e-05, before = value, value = above;
  above = 2.0 * t * value - before + 0.0033691164782556943, before = value, value = above;
  return (t * value - before + 0.4022452055070544) / sqrt(x);
}

/* The modified Bessel function of order 1, times exp(-x), for x >= 0: by its power series, and Chebyshev's
 * from 8 on. */
WEFT_DEVICE double weft_bessel_i1(double x) {
  if (x <= 8.0) {
    const double y = 0.25 * x * x;
    double value = 2.1319210082137464e-64;
    value = value * y + 1.8547712771459592e-61;
    value = value * y + 1.5060742770425188e-58;
    value = value * y + 1.1385921534441443e-55;
    value = value * y + 7.992916917177893e-53;
    value = value * y + 5.195395996165631e-50;
    value = value * y + 3.1172375976993783e-47;
    value = value * y + 1.7207151539300568e-44;
    value = value * y + 8.706818678886087e-42;
    value = value * y + 4.022550229645372e-39;
    value = value * y + 1.6894710964510563e-36;
    value = value * y + 6.419990166514014e-34;
    value = value * y + 2.195636636947793e-31;
    value = value * y + 6.718648109060246e-29;
    value = value * y + 1.827472285664387e-26;
    value = value * y + 4.385933485594529e-24;
    value = value * y + 9.21046031974851e-22;
    value = value * y + 1.676303778194229e-19;
    value = value * y + 2.615033893982997e-17;
    value = value * y + 3.451844740057556e-15;
    value = value * y + 3.7970292140633116e-13;
    value = value * y + 3.417326292656981e-11;
    value = value * y + 2.460474930713026e-09;
    value = value * y + 1.3778659611992944e-07;
    value = value * y + 5.787037037037037e-06;
    value = value * y + 0.00017361111111111112;
    value = value * y + 0.003472222222222222;
    value = value * y + 0.041666666666666664;
    value = value * y + 0.25;
    value = value * y + 0.5;
    return value * x * exp(-x);
  }
  const double t = 16.0 / x - 1.0;
  double before = 0.0, value = 0.0, above;
  above = 2.0 * t * value - before + -1.242193275194891e-18, before = value, value = above;
  above = 2.0 * t * value - before + -9.314178867326884e-19, before = value, value = above;
  above = 2.0 * t * value - before + 7.517296310842105e-18, before = value, value = above;
  above = 2.0 * t * value - before + 4.414348323071708e-18, before = value, value = above;
  above = 2.0 * t * value - before + -4.6503053684893586e-17, before = value, value = above;
  above = 2.0 * t * value - before + -3.209525921993424e-17, before = value, value = above;
  above = 2.0 * t * value - before + 2.96262899764595e-16, before = value, value = above;
  above = 2.0 * t * value - before + 3.3082023109209285e-16, before = value, value = above;
  above = 2.0 * t * value - before + -1.8803547755107825e-15, before = value, value = above;
  above = 2.0 * t * value - before + -3.8144030724370075e-15, before = value, value = above;
  above = 2.0 * t * value - before + 1.0420276984128802e-14, before = value, value = above;
  above = 2.0 * t * value - before + 4.272440016711951e-14, before = value, value = above;
  above = 2.0 * t * value - before + -2.1015418427726643e-14, before = value, value = above;
  above = 2.0 * t * value - before + -4.0835511110921974e-13, before = value, value = above;
  above = 2.0 * t * value - before + -7.198551776245908e-13, before = value, value = above;
  above = 2.0 * t * value - before + 2.0356285441470896e-12, before = value, value = above;
  above = 2.0 * t * value - before + 1.4125807436613782e-11, before = value, value = above;
  above = 2.0 * t * value - before + 3.2526035830154884e-11, before = value, value = above;
  above = 2.0 * t * value - before + -1.8974958123505413e-11, before = value, value = above;
  above = 2.0 * t * value - before + -5.589743462196584e-10, before = value, value = above;
  above = 2.0 * t * value - before + -3.835380385964237e-09, before = value, value = above;
  above = 2.0 * t * value - before + -2.6314688468895196e-08, before = value, value = above;
  above = 2.0 * t * value - before + -2.512236237870209e-07, before = value, value = above;
  above = 2.0 * t * value - before + -3.882564808877691e-06, before = value, value = above;
  above = 2.0 * t * value - before + -0.00011058893876262371, before = value, value = above;
  above = 2.0 * t * value - before + -0.009761097491361469, before = value, value = above;
  return (t * value - before + 0.38928811750914005) / sqrt(x);
}

WEFT_DEVICE double weft_i0e(double x) { return weft_bessel_i0(fabs(x)); }

WEFT_DEVICE double weft_i1e(double x) { return x < 0.0 ? -weft_bessel_i1(-x) : weft_bessel_i1(x); }

WEFT_DEVICE double weft_i0(double x) {
  const double half = exp(0.5 * fabs(x));
  return half * weft_i0e(x) * half;
}

WEFT_DEVICE double weft_i1(double x) {
  const double half = exp(0.5 * fabs(x));
  return half * weft_i1e(x) * half;
}

WEFT_DEVICE double weft_logit(double x) {
  if (x < 0.3 || x > 0.65) return log(x / (1.0 - x));
  const double s = 2.0 * (x - 0.5);
  return log1p(s) - log1p(-s);
}
