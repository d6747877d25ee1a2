// Ranks over time: a row a rank, computing above, communication below in a strip a dimension; the critical path across.
import { element } from '../dom.js';
import { escape, number, seconds } from '../format.js';
import { color, dimensions, phases, words } from '../theme.js';
import { axis_style, chart } from './chart.js';
import { decode, draw_lane } from './lanes.js';
import './shapes.js';

// Strips of a row, top to bottom: [lanes, top, height] in parts of the row.
function strips_of(row, shared) {
  const compute = row.lanes.filter((lane) => lane.dimension === 'none');
  const used = shared.filter((d) => d !== 'none');
  const strips = [{ lanes: compute, top: 0.1, height: used.length ? 0.46 : 0.8, name: 'compute' }];
  used.forEach((dimension, i) => {
    const height = 0.34 / used.length;
    strips.push({ lanes: row.lanes.filter((lane) => lane.dimension === dimension), top: 0.58 + i * height, height: height * 0.9, name: dimension });
  });
  return strips;
}

// One rank alone: a row a stream.
const streams_of = (row) => row.lanes.map((lane) => ({ label: lane.name, about: `rank ${row.rank}, ${lane.name}`, strips: [{ lanes: [lane], top: 0.12, height: 0.76, name: lane.name }] }));

function describe(item, end) {
  const facts = [];
  const add = (name, value) => value !== undefined && value !== -1 && facts.push([name, value]);
  add('from', `${seconds(item.begin)} to ${seconds(item.end)}`);
  add('takes', seconds(item.end - item.begin));
  if (item.phase !== 'other' && item.phase !== 'wait') add('phase', item.phase.replace('_', ' '));
  add('stage', item.stage);
  add('microbatch', item.microbatch);
  add('layer', item.layer);
  add('chunk', item.chunk);
  if (item.operation) add('does', `${item.operation}, ${item.algorithm}, ${number(item.group_size)} GPUs`);
  if (item.slack !== undefined) add('slack', item.slack <= 1e-9 * end ? 'none: the step waits for it' : seconds(item.slack));
  if (item.events > 1) add('merged', `${number(item.events)} events, named for the longest`);
  return { title: item.name, facts };
}

class Timeline {
  constructor(json) {
    this.json = json;
    this.data = decode(json);
    this.window = [0, this.data.end];
    this.with_path = true;
    this.chosen = -1; // all
    this.cursor = { row: 0, strip: 0, lane: 0, item: -1 };
    const seen = new Set(this.data.rows.flatMap((row) => row.lanes.filter((l) => l.count).map((l) => l.dimension)));
    this.shared = dimensions.filter((d) => seen.has(d));
    this.arrange();
  }

  arrange() {
    const { rows } = this.data;
    this.rows = this.chosen >= 0
      ? streams_of(rows[this.chosen])
      : rows.map((row) => ({
        label: `stage ${row.stage}${row.count > 1 ? ` ×${number(row.count)}` : `, rank ${row.rank}`}`,
        short: `stage ${row.stage}`,
        about: `stage ${row.stage}, rank ${row.rank}${row.count > 1 ? ` (${number(row.count)} alike)` : ''}`,
        strips: strips_of(row, this.shared),
      }));
    this.cursor = { row: 0, strip: 0, lane: 0, item: -1 };
  }

  get height() {
    return Math.min(1400, 86 + this.rows.length * (this.rows.length > 24 ? 22 : 36));
  }

  // The page's row of a path's row, or -1.
  row_of(path_row) {
    if (this.chosen < 0) return path_row;
    return path_row === this.chosen ? 0 : -1;
  }

  // The axis as it is being drawn: the chart's zoom event comes only afterwards.
  window_of(params, api) {
    const left = params.coordSys.x;
    const [zero] = api.coord([0, 0]);
    const scale = (api.coord([this.data.end, 0])[0] - zero) / this.data.end;
    const from = (left - zero) / scale;
    return { from, to: from + params.coordSys.width / scale, left, scale };
  }

  rects(params, api) {
    const { from, to, left, scale } = this.window_of(params, api);
    const right = left + params.coordSys.width;
    const height = api.size([0, 1])[1];
    const by_class = this.data.names.map(() => []);
    this.rows.forEach((row, r) => {
      const top = api.coord([from, r])[1];
      for (const strip of row.strips) {
        const y = top + strip.top * height;
        const h = Math.max(1, strip.height * height);
        for (const lane of strip.lanes) {
          draw_lane(lane, this.data.classes, from, to, left, scale, (cls, x, width) => {
            const x0 = Math.max(left, x);
            const x1 = Math.min(right, x + width);
            if (x1 > x0) by_class[cls].push(x0, y, x1 - x0, h);
          });
        }
      }
    });
    return {
      type: 'group',
      children: by_class.map((rects, cls) => ({ type: 'rects', silent: true, shape: { rects }, style: { fill: color(this.data.names[cls]) } })),
    };
  }

  track(params, api) {
    if (!this.with_path) return null;
    const { path } = this.data;
    const { from, to, left, scale } = this.window_of(params, api);
    const right = left + params.coordSys.width;
    const clip = (time) => Math.max(left, Math.min(right, left + (time - from) * scale));
    const points = [];
    let last = [NaN, NaN];
    const add = (x, y) => {
      if (Math.abs(x - last[0]) < 0.5 && y === last[1]) return;
      points.push(x, y);
      last = [x, y];
    };
    for (let i = 0; i < path.count; i += 1) {
      if (path.end[i] < from || path.begin[i] > to) continue;
      const row = this.row_of(path.row[i]);
      if (row < 0) {
        if (!Number.isNaN(last[0])) points.push(NaN, NaN);
        last = [NaN, NaN];
        continue;
      }
      const y = api.coord([from, row + (this.chosen < 0 ? 0.56 : 0.94)])[1];
      add(clip(path.begin[i]), y);
      add(clip(path.end[i]), y);
    }
    const line = (width, stroke) => ({ type: 'track', silent: true, shape: { points }, style: { fill: 'none', stroke, lineWidth: width, lineJoin: 'round' } });
    return { type: 'group', children: params.coordSys.width < 500 ? [line(1.5, color('path'))] : [line(4.5, color('page')), line(2, color('path'))] };
  }

  option(width) {
    const rows = this.rows.length;
    return {
      grid: { left: width < 500 ? 84 : 130, right: 24, top: 8, bottom: 72, outerBoundsMode: 'none' },
      xAxis: { type: 'value', min: 0, max: this.data.end, ...axis_style(), splitLine: { show: false }, axisLabel: { ...axis_style().axisLabel, formatter: (v) => this.tick(v), hideOverlap: true } },
      yAxis: {
        type: 'value', min: 0, max: rows, interval: 1, inverse: true, ...axis_style(), axisTick: { show: false },
        axisLabel: { show: false },
      },
      dataZoom: [
        { id: 'slider', type: 'slider', filterMode: 'none', height: 24, bottom: 12, labelFormatter: (v) => this.tick(v), textStyle: { color: color('quiet') }, borderColor: color('line'), minSpan: 1e-6, startValue: this.window[0], endValue: this.window[1] },
        { id: 'inside', type: 'inside', filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true, preventDefaultMouseMove: false, minSpan: 1e-6, startValue: this.window[0], endValue: this.window[1] },
      ],
      series: [
        { type: 'custom', id: 'rects', clip: true, silent: true, data: [[0, 0, this.data.end]], encode: { x: [0, 2], y: 1 }, renderItem: (params, api) => this.rects(params, api) },
        { type: 'custom', id: 'names', silent: true, data: [[0, 0]], renderItem: (params, api) => this.names(params, api, width) },
        { type: 'custom', id: 'path', clip: true, silent: true, data: [[0, 0, this.data.end]], encode: { x: [0, 2], y: 1 }, renderItem: (params, api) => this.track(params, api), z: 5 },
      ],
    };
  }

  // Rows' names, in the middle of their rows.
  names(params, api, width) {
    const height = api.size([0, 1])[1];
    const room = width < 500 ? 78 : 122;
    return {
      type: 'group',
      children: this.rows.map((row, r) => ({
        type: 'text',
        silent: true,
        style: { text: width < 500 && row.short ? row.short : row.label, x: params.coordSys.x - 8, y: api.coord([0, r])[1] + height / 2, align: 'right', verticalAlign: 'middle', fill: color('quiet'), fontSize: Math.min(12, height * 0.7), width: room, overflow: 'truncate' },
      })),
    };
  }

  get unit() {
    return this.data.end >= 1 ? [1, 's'] : this.data.end >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
  }

  // Enough for the window that is shown.
  get digits() {
    const span = (this.window[1] - this.window[0]) * this.unit[0];
    return Math.max(0, Math.min(9, Math.ceil(-Math.log10(span / 100))));
  }

  tick(value) {
    const [factor, unit] = this.unit;
    return `${Number((value * factor).toFixed(this.digits))} ${unit}`;
  }

  find(row, part, time, tolerance) {
    const strips = this.rows[row]?.strips ?? [];
    const strip = strips.find((s) => part >= s.top - 0.02 && part <= s.top + s.height + 0.02);
    for (const lane of strip?.lanes ?? []) {
      const i = lane.at(time, tolerance);
      if (i >= 0) return lane.item(i);
    }
    return null;
  }
}

function legend(timeline) {
  const used = new Set(timeline.data.rows.flatMap((row) => row.lanes.flatMap((lane) => [...new Set(lane.kind)].map((k) => timeline.data.names[timeline.data.classes[k]]))));
  const order = [...phases.map((p) => `phase-${p}`), ...dimensions.map((d) => `dimension-${d}`), 'wait'];
  return element('ul', { class: 'legend', 'aria-label': 'Colours' }, order.filter((c) => used.has(c)).map((c) => element('li', {},
    element('span', { class: 'swatch', style: `background:var(--${c})`, 'aria-hidden': 'true' }), c === 'phase-other' ? 'other compute' : words(c))));
}

export function timeline_chart(json) {
  const timeline = new Timeline(json);
  const { end } = timeline.data;
  let drawn;
  const spoken = element('p', { class: 'spoken', 'aria-live': 'polite' });
  const tip = element('div', { class: 'tip', hidden: true });
  const box = chart('Timeline of ranks; use the arrow keys to move, plus and minus to zoom', timeline.height, (width) => timeline.option(width), (made, node) => {
    drawn = made;
    listen(node);
  });
  box.setAttribute('role', 'application');
  box.tabIndex = 0;

  const zoom_to = (from, to) => {
    const span = Math.min(end, Math.max(end * 1e-8, to - from));
    const start = Math.max(0, Math.min(end - span, from));
    timeline.window = [start, start + span];
    drawn.dispatchAction({ type: 'dataZoom', batch: ['slider', 'inside'].map((dataZoomId) => ({ dataZoomId, startValue: start, endValue: start + span })) });
  };
  const zoom_by = (factor, middle) => {
    const [from, to] = timeline.window;
    const at = middle ?? (from + to) / 2;
    zoom_to(at - (at - from) * factor, at + (to - at) * factor);
  };
  const move_by = (part) => {
    const [from, to] = timeline.window;
    const shift = (to - from) * part;
    zoom_to(from + shift, to + shift);
  };

  const show = (item, about, x, y) => {
    const { title, facts } = describe(item, end);
    tip.innerHTML = `<b>${escape(title)}</b><br><span>${escape(about)}</span><dl>${facts.map(([n, v]) => `<dt>${escape(n)}</dt><dd>${escape(v)}</dd>`).join('')}</dl>`;
    tip.hidden = false;
    const room = box.clientWidth;
    tip.style.left = `${Math.max(0, Math.min(x + 14, room - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.min(y + 14, box.clientHeight - 20)}px`;
  };
  const hide = () => { tip.hidden = true; };

  // Keys step through the events of a row: the cursor is the item's lane and number.
  const lanes_of = (row) => timeline.rows[row].strips.flatMap((strip) => strip.lanes.map((lane) => ({ lane, strip }))).filter(({ lane }) => lane.count);
  const step_to = (direction) => {
    const { cursor } = timeline;
    const lanes = lanes_of(cursor.row);
    if (!lanes.length) return;
    cursor.lane = Math.min(cursor.lane, lanes.length - 1);
    const { lane, strip } = lanes[cursor.lane];
    const [from, to] = timeline.window;
    const current = cursor.item >= 0 && lane.end[cursor.item] > from && lane.begin[cursor.item] < to;
    cursor.item = current ? cursor.item + direction : lane.after(from);
    cursor.item = Math.max(0, Math.min(lane.count - 1, cursor.item));
    const begin = lane.begin[cursor.item];
    if (begin > to || begin < from) zoom_to(begin - (to - from) / 2, begin + (to - from) / 2);
    const item = lane.item(cursor.item);
    const [x, y] = drawn.convertToPixel({ gridIndex: 0 }, [(Math.max(item.begin, timeline.window[0]) + Math.min(item.end, timeline.window[1])) / 2, cursor.row + strip.top + strip.height]);
    show(item, timeline.rows[cursor.row].about, x, y);
    const { title, facts } = describe(item, end);
    spoken.textContent = `${timeline.rows[cursor.row].about}: ${title}, ${facts.map((f) => f.join(' ')).join(', ')}`;
  };
  const change_row = (by) => {
    const { cursor } = timeline;
    const lanes = lanes_of(cursor.row);
    cursor.item = -1;
    if (cursor.lane + by >= 0 && cursor.lane + by < lanes.length) {
      cursor.lane += by;
    } else if (cursor.row + by >= 0 && cursor.row + by < timeline.rows.length) {
      cursor.row += by;
      cursor.lane = by > 0 ? 0 : Math.max(0, lanes_of(cursor.row).length - 1);
    }
    step_to(1);
  };

  function listen(node) {
    node.append(tip);
    let relabel;
    drawn.on('datazoom', () => {
      const [{ startValue, endValue }] = drawn.getOption().dataZoom;
      const { digits } = timeline;
      timeline.window = [startValue, endValue];
      hide();
      clearTimeout(relabel);
      if (timeline.digits !== digits) relabel = setTimeout(() => drawn.setOption({ xAxis: { axisLabel: { formatter: (v) => timeline.tick(v) } } }), 80);
    });
    drawn.getZr().on('mousemove', ({ offsetX, offsetY }) => {
      if (!drawn.containPixel({ gridIndex: 0 }, [offsetX, offsetY])) return hide();
      const [time, y] = drawn.convertFromPixel({ gridIndex: 0 }, [offsetX, offsetY]);
      const row = Math.floor(y);
      const pixel = (timeline.window[1] - timeline.window[0]) / Math.max(1, box.clientWidth - 144);
      const item = timeline.find(row, y - row, time, pixel);
      return item ? show(item, timeline.rows[row].about, offsetX, offsetY) : hide();
    });
    drawn.getZr().on('globalout', hide);
    node.addEventListener('keydown', (event) => {
      const act = {
        ArrowLeft: () => move_by(-0.2), ArrowRight: () => move_by(0.2), '+': () => zoom_by(0.5), '=': () => zoom_by(0.5), '-': () => zoom_by(2),
        0: () => zoom_to(0, end), Home: () => zoom_to(0, end), ArrowUp: () => change_row(-1), ArrowDown: () => change_row(1),
        n: () => step_to(1), p: () => step_to(-1), Escape: hide,
      }[event.key];
      if (!act || event.altKey || event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      act();
    });
    node.dataset.ready = 'true';
  }

  const choice = element('select', {
    'aria-label': 'Ranks shown',
    onchange: () => {
      timeline.chosen = Number(choice.value);
      timeline.arrange();
      hide();
      box.style.height = `${timeline.height}px`;
      drawn.resize();
      drawn.setOption(timeline.option(box.clientWidth), { replaceMerge: ['series'] });
    },
  }, element('option', { value: -1 }, 'all ranks shown'), timeline.data.rows.map((row, i) => element('option', { value: i }, `stage ${row.stage}, rank ${row.rank}: its streams`)));
  const path = element('input', {
    type: 'checkbox',
    checked: true,
    onchange: () => {
      timeline.with_path = path.checked;
      drawn.setOption(timeline.option(box.clientWidth), { replaceMerge: ['series'] });
    },
  });
  const button = (text, label, act) => element('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
  const controls = element('div', { class: 'controls' },
    button('+', 'Zoom in', () => zoom_by(0.5)), button('−', 'Zoom out', () => zoom_by(2)),
    button('◀', 'Earlier', () => move_by(-0.5)), button('▶', 'Later', () => move_by(0.5)), button('whole step', 'Show the whole step', () => zoom_to(0, end)),
    choice, element('label', {}, path, ' critical path'));
  const notes = [];
  if (json.ranks < json.ranks_simulated) notes.push(`${json.ranks} of ${number(json.ranks_simulated)} simulated ranks: the first of each program and speed, and those with most of the critical path.`);
  if (json.merged_below_s > 0) notes.push(`Neighbouring events that fit into ${seconds(json.merged_below_s)} are drawn as one; --trace has all.`);
  notes.push('Drag to move, Ctrl and wheel (or pinch) to zoom. Keys: arrows, + and −, 0 for the whole step, n and p for the next and previous event.');
  return element('div', {}, legend(timeline), controls, box, spoken, element('p', { class: 'about' }, notes.join(' ')));
}
