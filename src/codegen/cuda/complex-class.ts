/**
 * The class of complex numbers that users' texts see, with the names of CuPy's (`complex<float>`, `x.real()`,
 * `conj(x)`) and the arithmetic of Weft's own functions, so that both round alike.
 */

/** Functions of one complex number that give another one, by Weft's. */
const UNARY = ['conj', 'exp', 'log', 'log10', 'sqrt', 'sin', 'cos', 'tan', 'sinh', 'cosh', 'tanh'];

const unary = (name: string): string => `template <class T>
__device__ __forceinline__ complex<T> ${name}(const complex<T>& a) { return weft_${name}(a.weft()); }
`;

const binary = (operator: string): string => `template <class T>
__device__ __forceinline__ complex<T> operator${operator}(const complex<T>& a, const complex<T>& b) { return a.weft() ${operator} b.weft(); }
template <class T>
__device__ __forceinline__ complex<T> operator${operator}(const complex<T>& a, const typename complex<T>::value_type& b) { return a ${operator} complex<T>(b); }
template <class T>
__device__ __forceinline__ complex<T> operator${operator}(const typename complex<T>::value_type& a, const complex<T>& b) { return complex<T>(a) ${operator} b; }
`;

const assigned = (operator: string): string =>
  `  __device__ __forceinline__ complex& operator${operator}=(const complex& b) { return *this = *this ${operator} b; }
`;

export const COMPLEX_CLASS = `namespace weft_user {
template <class T>
struct complex {
  typedef T value_type;
  T re, im;
  __device__ __forceinline__ complex(T re = T(), T im = T()) : re(re), im(im) {}
  __device__ __forceinline__ complex(const weft_complex<T>& a) : re(a.re), im(a.im) {}
  template <class S>
  __device__ __forceinline__ explicit complex(const complex<S>& a) : re((T)a.re), im((T)a.im) {}
  __device__ __forceinline__ operator weft_complex<T>() const { return {re, im}; }
  __device__ __forceinline__ weft_complex<T> weft() const { return {re, im}; }
  __device__ __forceinline__ T real() const { return re; }
  __device__ __forceinline__ T imag() const { return im; }
  __device__ __forceinline__ void real(T a) { re = a; }
  __device__ __forceinline__ void imag(T a) { im = a; }
${['+', '-', '*', '/'].map(assigned).join('')}};
${['+', '-', '*', '/'].map(binary).join('')}template <class T>
__device__ __forceinline__ complex<T> operator-(const complex<T>& a) { return -a.weft(); }
template <class T>
__device__ __forceinline__ bool operator==(const complex<T>& a, const complex<T>& b) { return a.weft() == b.weft(); }
template <class T>
__device__ __forceinline__ bool operator!=(const complex<T>& a, const complex<T>& b) { return a.weft() != b.weft(); }
template <class T>
__device__ __forceinline__ T real(const complex<T>& a) { return a.re; }
template <class T>
__device__ __forceinline__ T imag(const complex<T>& a) { return a.im; }
template <class T>
__device__ __forceinline__ T abs(const complex<T>& a) { return weft_abs(a.weft()); }
template <class T>
__device__ __forceinline__ T arg(const complex<T>& a) { return atan2(a.im, a.re); }
template <class T>
__device__ __forceinline__ T norm(const complex<T>& a) { return a.re * a.re + a.im * a.im; }
template <class T>
__device__ __forceinline__ complex<T> polar(T size, T angle) { return {size * cos(angle), size * sin(angle)}; }
template <class T>
__device__ __forceinline__ complex<T> pow(const complex<T>& a, const complex<T>& b) { return weft_pow(a.weft(), b.weft()); }
${UNARY.map(unary).join('')}}
`;
