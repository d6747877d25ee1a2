// The roofline, for all resources in one plot: how much compute a rank does for each second that a resource needs at its
// speed of light, against the compute rate it reaches. Under the roof min(1, x); 1 is compute all the time.
import { escape, percent, resource, seconds } from '../format.js';
import { color } from '../theme.js';
import { axis_style, chart, tooltip_style } from './chart.js';

export function roofline_chart(report) {
  const wires = report.wires;
  const resources = ['hbm', ...wires];
  const hues = ['hbm', 'wire-0', 'wire-1', 'wire-2', 'wire-3'];
  const points = resources.map((name) => report.ranks.flatMap((r) => {
    const need = r.roofline[`${name}_s`];
    if (!(need > 0) || !(r.roofline.compute_s > 0)) return [];
    return [{ value: [r.roofline.compute_s / need, r.roofline.compute_s / report.step_time_s], need, rank: r }];
  }));
  const all = points.flat().map((p) => p.value);
  if (all.length === 0) return null;
  const low = 10 ** Math.floor(Math.log10(Math.min(0.1, ...all.map((v) => v[0]))));
  const high = 10 ** Math.ceil(Math.log10(Math.max(10, ...all.map((v) => v[0]))));
  const floor = 10 ** Math.floor(Math.log10(Math.min(0.1, ...all.map((v) => v[1]))));
  const label = `Roofline: ${resources.map((n, i) => (points[i].length ? `${resource(n)} at ${points[i][0].value[0].toPrecision(3)} times the balance` : '')).filter(Boolean).join(', ')}`;
  return chart(label, 320, (width) => ({
    grid: { left: 8, right: 20, top: width < 500 ? 56 : 34, bottom: 44, containLabel: true },
    legend: { top: 0, left: 0, textStyle: { color: color('ink'), fontSize: 12 } },
    tooltip: {
      ...tooltip_style(),
      formatter: ({ data, seriesName }) => (data.rank
        ? `<b>${escape(seriesName)}, rank ${data.rank.rank}, stage ${data.rank.stage}</b><br>needs ${seconds(data.need)}, compute ${seconds(data.rank.roofline.compute_s)}<br>reached: ${percent(data.value[1])} of the compute rate, roof ${percent(Math.min(1, data.value[0]))}`
        : 'roof'),
    },
    xAxis: { type: 'log', min: low, max: high, name: width < 500 ? 'compute time ÷ resource time' : 'compute time ÷ resource time (below 1 the resource binds)', nameLocation: 'middle', nameGap: 26, ...axis_style() },
    yAxis: { type: 'log', min: floor, max: 1, ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: (v) => `${100 * v} %` } },
    series: [
      { name: 'roof', type: 'line', symbol: 'none', lineStyle: { color: color('ink'), width: 2 }, itemStyle: { color: color('ink') }, data: [[Math.max(low, floor), Math.max(low, floor)], [1, 1], [high, 1]] },
      ...resources.map((name, i) => ({
        name: resource(name),
        type: 'scatter',
        symbol: ['circle', 'rect', 'triangle', 'diamond', 'pin'][i % 5],
        symbolSize: 11,
        itemStyle: { color: color(hues[i % 5]), opacity: 0.8 },
        data: points[i].slice(0, 2000),
      })),
    ],
  }));
}
