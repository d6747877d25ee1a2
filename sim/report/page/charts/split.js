// How ranks spend the step: compute (of it with communication hidden under it), exposed communication, wait, bubble.
import { escape, number, percent, seconds } from '../format.js';
import { color } from '../theme.js';
import { axis_style, chart, tooltip_style } from './chart.js';

export const parts = [
  ['compute alone', 'compute', (r) => r.compute_s - r.overlapped_communication_s],
  ['compute over hidden communication', 'hidden', (r) => r.overlapped_communication_s],
  ['exposed communication', 'exposed', (r) => r.exposed_communication_s],
  ['wait', 'wait', (r) => r.wait_s],
  ['bubble', 'bubble', (r) => r.bubble_s],
];

// rows: [{label, about, whole, values: [seconds of each part]}]; whole: what the bar's shares are of.
export function split_chart(label, rows, unit = seconds) {
  return chart(label, 76 + 26 * rows.length, (width) => ({
    grid: { left: 8, right: 16, top: width < 500 ? 58 : 34, bottom: 24, containLabel: true },
    legend: { top: 0, left: 0, itemWidth: 14, itemHeight: 10, textStyle: { color: color('ink'), fontSize: 12 }, selectedMode: false },
    xAxis: { type: 'value', ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: unit, hideOverlap: true } },
    yAxis: { type: 'category', inverse: true, data: rows.map((r) => (width < 500 && r.short ? r.short : r.label)), ...axis_style(), axisLabel: { ...axis_style().axisLabel, color: color('ink'), width: width < 500 ? 84 : 190, overflow: 'truncate' } },
    tooltip: {
      ...tooltip_style(),
      trigger: 'axis',
      axisPointer: { type: 'shadow' },
      formatter: (points) => {
        const row = rows[points[0].dataIndex];
        return `<b>${escape(row.about)}</b><br>${parts.map(([name], i) => `${name}: ${unit(row.values[i])} (${percent(row.values[i] / row.whole)})`).join('<br>')}`;
      },
    },
    series: parts.map(([name, hue], i) => ({
      name,
      type: 'bar',
      stack: 'step',
      barMaxWidth: 18,
      itemStyle: { color: color(hue), decal: undefined },
      data: rows.map((r) => Math.max(0, r.values[i])),
    })),
  }));
}

export function ranks_split(report) {
  const ranks = [...report.ranks].sort((a, b) => a.stage - b.stage || a.rank - b.rank).slice(0, 64);
  return split_chart('How ranks spend the step', ranks.map((r) => ({
    label: `stage ${r.stage}${r.count > 1 ? ` ×${number(r.count)}` : `, rank ${r.rank}`}`,
    short: `stage ${r.stage}`,
    about: `stage ${r.stage}, rank ${r.rank}${r.count > 1 ? ` (${number(r.count)} alike)` : ''}`,
    whole: report.step_time_s,
    values: parts.map(([, , of]) => of(r)),
  })));
}
