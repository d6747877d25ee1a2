// The timeline's data: lanes of items as typed arrays, and what of them shows at a scale.
import { class_of } from '../theme.js';

const stride = 7;

export class Lane {
  constructor(json, kinds, unit) {
    const { items } = json;
    const count = items.length / stride;
    Object.assign(this, { name: json.name, dimension: json.dimension, count });
    this.begin = new Float64Array(count);
    this.end = new Float64Array(count);
    this.kind = new Int32Array(count);
    this.rest = items; // microbatch, layer, slack, events
    this.kinds = kinds;
    this.unit = unit;
    let at = 0;
    for (let i = 0; i < count; i += 1) {
      at += items[i * stride];
      this.begin[i] = at * unit;
      at += items[i * stride + 1];
      this.end[i] = at * unit;
      this.kind[i] = items[i * stride + 2];
    }
  }

  // The first item that ends after a time; `count` when none does.
  after(time) {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  at(time, tolerance = 0) {
    const i = this.after(time - tolerance);
    return i < this.count && this.begin[i] <= time + tolerance ? i : -1;
  }

  item(i) {
    const [, , , microbatch, layer, slack, events] = this.rest.slice(i * stride, (i + 1) * stride);
    return { ...this.kinds[this.kind[i]], lane: this.name, begin: this.begin[i], end: this.end[i], microbatch, layer, slack: slack < 0 ? undefined : slack * this.unit, events };
  }
}

// Rectangles of a lane between two times, by class (a number): items of a pixel or more as they are; shorter ones share
// their pixel column, each class as wide as its part of it. `emit(class, x, width)`.
export function draw_lane(lane, classes, from, to, left, scale, emit) {
  const { begin, end, kind, count } = lane;
  const shares = new Float64Array(32); // of the column, by class
  let column = -1;
  const flush = () => {
    let x = column;
    for (let cls = 0; cls < shares.length; cls += 1) {
      if (shares[cls] === 0) continue;
      emit(cls, x, Math.min(1, shares[cls]));
      x += shares[cls];
      shares[cls] = 0;
    }
    column = -1;
  };
  for (let i = lane.after(from); i < count && begin[i] < to; i += 1) {
    const x = left + (begin[i] - from) * scale;
    const width = (end[i] - begin[i]) * scale;
    const cls = classes[kind[i]];
    if (width >= 1) {
      if (column >= 0) flush();
      emit(cls, x, width);
      continue;
    }
    const here = Math.floor(x);
    if (here !== column) {
      if (column >= 0) flush();
      column = here;
    }
    shares[cls] += width;
  }
  if (column >= 0) flush();
}

export function decode(timeline) {
  const { kinds, unit_s: unit } = timeline;
  const names = [...new Set(kinds.map(class_of))];
  const classes = Int32Array.from(kinds, (kind) => names.indexOf(class_of(kind)));
  const rows = timeline.rows.map((row) => ({ ...row, lanes: row.lanes.map((lane) => new Lane(lane, kinds, unit)) }));
  const path = { count: timeline.path.length / 4, row: [], begin: [], end: [] };
  for (let i = 0; i < path.count; i += 1) {
    path.row.push(timeline.path[4 * i]);
    path.begin.push(timeline.path[4 * i + 1] * unit);
    path.end.push((timeline.path[4 * i + 1] + timeline.path[4 * i + 2]) * unit);
  }
  return { rows, path, names, classes, kinds, end: timeline.end_s };
}
