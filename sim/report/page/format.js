// Numbers as words for people: SI units, three significant digits.
const significant = (x) => {
  const digits = Math.abs(x) >= 1000 ? Math.round(x).toString() : Number(x.toPrecision(3)).toString();
  return digits;
};

const scaled = (value, unit, steps) => {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return `0 ${unit}`;
  for (const [factor, prefix] of steps) {
    if (Math.abs(value) >= factor * 0.9995) return `${significant(value / factor)} ${prefix}${unit}`;
  }
  const [factor, prefix] = steps[steps.length - 1];
  return `${significant(value / factor)} ${prefix}${unit}`;
};

export const seconds = (s) => scaled(s, 's', [[1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']]);
const decimal = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
export const bytes = (b) => scaled(b, 'B', decimal);
export const bandwidth = (b) => scaled(b, 'B/s', decimal);
export const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : '–');
export const number = (n) => (Number.isFinite(n) ? Math.round(n).toLocaleString('en-US') : '–');
export const resource = (name) => ({hbm: 'HBM', starts: 'kernel starts'})[name] ?? name;

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const escape = (text) => String(text).replace(/[&<>"']/g, (c) => entities[c]);
