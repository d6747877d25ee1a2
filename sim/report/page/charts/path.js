// The critical path, summed up: a bar a way of counting.
import { escape, percent, seconds } from '../format.js';
import { color, words } from '../theme.js';
import { axis_style, chart, tooltip_style } from './chart.js';

const numbered = (rows, key) => Object.fromEntries([...rows].sort((a, b) => b.seconds - a.seconds).map((r) => [r[key] < 0 ? `no ${key}` : `${key} ${r[key]}`, r.seconds]));
const without_unit = (map) => Object.fromEntries(Object.entries(map).map(([k, v]) => [k.replace(/_s$/, ''), v]));

export const ways = (path) => [
  ['kind', without_unit(path.by_kind)],
  ['dimension', without_unit(path.by_dimension)],
  ['wire', without_unit(path.by_wire)],
  ['phase', without_unit(path.by_phase)],
  ['stage', numbered(path.by_stage, 'stage')],
  ['layer', numbered(path.by_layer, 'layer')],
  ['rank', numbered(path.by_rank, 'rank')],
];

// The largest parts, the others together.
function parts_of(map, whole) {
  const sorted = Object.entries(map).filter(([, s]) => s > 0).sort((a, b) => b[1] - a[1]);
  const most = 8;
  const parts = sorted.length > most + 1 ? sorted.slice(0, most) : sorted;
  const rest = whole - parts.reduce((sum, [, s]) => sum + s, 0);
  return { parts, rest: rest > 1e-9 * whole ? rest : 0, others: sorted.length - parts.length };
}

export function path_chart(report) {
  const rows = ways(report.critical_path).filter(([, map]) => Object.keys(map).length > 0);
  const whole = report.step_time_s;
  const split = rows.map(([name, map]) => ({ name, ...parts_of(map, whole) }));
  const deepest = Math.max(...split.map((s) => s.parts.length));
  const hue = (i) => color(`memory-${i % 8}`);
  const text = (name) => words(name).replace('other communication', 'not communication');
  const label = split.map((s) => `by ${s.name}: ${s.parts.slice(0, 3).map(([n, v]) => `${text(n)} ${percent(v / whole)}`).join(', ')}`).join('; ');
  const datum = (s, i) => {
    if (i < s.parts.length) return { value: s.parts[i][1], name: s.parts[i][0] };
    if (i === deepest && s.rest > 0) return { value: s.rest, name: s.others > 0 ? `${s.others} others` : 'not on a wire' };
    return { value: 0, name: '' };
  };
  return chart(`Critical path ${label}`, 40 + 40 * rows.length, (width) => ({
    grid: { left: 8, right: 16, top: 4, bottom: 24, containLabel: true },
    xAxis: { type: 'value', max: whole, ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: seconds, hideOverlap: true } },
    yAxis: { type: 'category', inverse: true, data: split.map((s) => `by ${s.name}`), ...axis_style(), axisLabel: { ...axis_style().axisLabel, color: color('ink') } },
    tooltip: { ...tooltip_style(), formatter: ({ data }) => `${escape(text(data.name))}: ${seconds(data.value)} (${percent(data.value / whole)})` },
    series: Array.from({ length: deepest + 1 }, (_, i) => ({
      type: 'bar',
      stack: 'path',
      barMaxWidth: 26,
      itemStyle: { color: i === deepest ? color('faint') : hue(i), borderColor: color('page'), borderWidth: 1 },
      label: {
        show: true,
        color: i === deepest ? color('ink') : color('on-hue'),
        fontSize: 11,
        formatter: ({ data }) => {
          const room = (data.value / whole) * (width - 120);
          const words_ = `${text(data.name)} ${percent(data.value / whole)}`;
          return room > words_.length * 6.2 ? words_ : room > text(data.name).length * 6.2 && data.name ? text(data.name) : '';
        },
      },
      data: split.map((s) => datum(s, i)),
    })),
  }));
}
