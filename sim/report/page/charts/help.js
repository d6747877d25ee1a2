// What would help: seconds that a 10 % faster resource saves.
import { escape, resource, seconds } from '../format.js';
import { color } from '../theme.js';
import { axis_style, chart, tooltip_style } from './chart.js';

export function help_chart(report) {
  const names = Object.keys(report.verdict.elasticity);
  // Two simulations that differ in rounding only leave noise around zero.
  const saved = names.map((n) => (Math.abs(report.verdict.elasticity[n]) < 1e-6 ? 0 : report.verdict.saved_by_10_percent[`${n}_s`]));
  const label = `Seconds saved by 10 % faster: ${names.map((n, i) => `${resource(n)} ${seconds(saved[i])}`).join(', ')}`;
  return chart(label, 44 + 34 * names.length, () => ({
    grid: { left: 8, right: 76, top: 4, bottom: 24, containLabel: true },
    xAxis: { type: 'value', ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: seconds, hideOverlap: true } },
    yAxis: { type: 'category', inverse: true, data: names.map(resource), ...axis_style(), axisLabel: { ...axis_style().axisLabel, color: color('ink') } },
    tooltip: {
      ...tooltip_style(),
      formatter: ({ dataIndex: i }) => `10 % faster ${escape(resource(names[i]))}: ${seconds(saved[i])}<br>elasticity ${report.verdict.elasticity[names[i]].toFixed(3)}`,
    },
    series: [{
      type: 'bar',
      barMaxWidth: 20,
      data: saved.map((value, i) => ({
        value,
        itemStyle: { color: color(['compute', 'hbm', 'starts'].includes(names[i]) ? 'compute' : 'exposed') },
      })),
      label: { show: true, position: 'right', color: color('ink'), formatter: ({ value }) => seconds(value) },
    }],
  }));
}
