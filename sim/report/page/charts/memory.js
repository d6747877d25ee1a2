// Memory by kind at the peak, and over time where the report has it.
import { bytes, escape, seconds } from '../format.js';
import { color } from '../theme.js';
import { axis_style, chart, tooltip_style } from './chart.js';

const limit = (report, position) => ({
  silent: true,
  symbol: 'none',
  lineStyle: { color: color('bad'), width: 2 },
  label: { position, formatter: `GPU: ${bytes(report.memory.gpu_memory_bytes)}`, color: color('ink') },
});

export function memory_peaks(report) {
  const rows = [...report.memory.ranks].sort((a, b) => a.stage - b.stage || a.rank - b.rank).slice(0, 64);
  if (rows.length === 0) return null;
  const kinds = Object.keys(rows[0].kinds).filter((kind) => rows.some((r) => r.kinds[kind] > 0));
  const room = report.memory.gpu_memory_bytes;
  return chart('Memory at the peak by kind', 96 + 26 * rows.length, (width) => ({
    grid: { left: 8, right: 24, top: width < 500 ? 92 : 60, bottom: 24, containLabel: true },
    legend: { top: 0, left: 0, itemWidth: 14, itemHeight: 10, textStyle: { color: color('ink'), fontSize: 12 }, selectedMode: false },
    xAxis: { type: 'value', max: (v) => Math.max(v.max, room * 1.05), ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: bytes, hideOverlap: true } },
    yAxis: { type: 'category', inverse: true, data: rows.map((r) => `stage ${r.stage}`), ...axis_style() },
    tooltip: {
      ...tooltip_style(),
      trigger: 'axis',
      axisPointer: { type: 'shadow' },
      formatter: (points) => {
        const r = rows[points[0].dataIndex];
        return `<b>stage ${r.stage}, rank ${r.rank}: ${bytes(r.peak_bytes)}</b><br>${kinds.map((k) => `${escape(k.replace('_bytes', ''))}: ${bytes(r.kinds[k])}`).join('<br>')}`;
      },
    },
    series: kinds.map((kind, i) => ({
      name: kind.replace('_bytes', ''),
      type: 'bar',
      stack: 'memory',
      barMaxWidth: 18,
      itemStyle: { color: color(`memory-${i % 8}`) },
      data: rows.map((r) => r.kinds[kind]),
      markLine: i === 0 && room > 0 ? { ...limit(report, 'start'), data: [{ xAxis: room }] } : undefined,
    })),
  }));
}

export function memory_over_time(report) {
  const lines = report.memory.timeline ?? [];
  if (lines.length === 0) return null;
  const room = report.memory.gpu_memory_bytes;
  return chart('Memory over the step, a line a stage', 340, (width) => ({
    grid: { left: 8, right: 24, top: 40, bottom: 64, containLabel: true },
    legend: { top: 0, left: 0, right: 0, type: 'plain', itemWidth: 14, textStyle: { color: color('ink'), fontSize: 11 }, show: lines.length <= (width < 500 ? 8 : 16) },
    xAxis: { type: 'value', max: report.step_time_s, ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: seconds, hideOverlap: true } },
    yAxis: { type: 'value', max: (v) => Math.max(v.max, room * 1.05), ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: bytes } },
    dataZoom: [{ type: 'slider', height: 22, bottom: 8, labelFormatter: seconds, textStyle: { color: color('quiet') } }],
    tooltip: {
      ...tooltip_style(),
      trigger: 'item',
      formatter: ({ seriesName, value }) => `${escape(seriesName)}<br>${seconds(value[0])}: ${bytes(value[1])}`,
    },
    series: lines.slice(0, 64).map((line, i) => ({
      name: `stage ${line.stage}`,
      type: 'line',
      step: 'end',
      showSymbol: false,
      sampling: 'max',
      lineStyle: { width: 1.5 },
      itemStyle: { color: color(`memory-${i % 8}`) },
      data: line.points,
      markLine: i === 0 && room > 0 ? { ...limit(report, 'insideEndTop'), data: [{ yAxis: room }] } : undefined,
    })),
  }));
}
