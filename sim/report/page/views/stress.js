// Plans under many drawn scenarios: how step times are distributed, who waits, and the runs that hurt most.
import { chart, axis_style, tooltip_style } from '../charts/chart.js';
import { element, long_table, section, table } from '../dom.js';
import { escape, number, seconds } from '../format.js';
import { color } from '../theme.js';

const hues = ['compute', 'exposed', 'wait', 'hidden', 'ink'];
const loss = (time, plan) => (time === null ? '–' : `${time >= plan.nominal_s ? '+' : ''}${(100 * (time / plan.nominal_s - 1)).toFixed(1)} %`);
const time = (value) => (value === null ? 'never ends' : seconds(value));
const ended = (plan) => plan.runs.filter((r) => r.ends).sort((a, b) => a.step_time_s - b.step_time_s);
const suffering = (plan) => (plan.percentiles_s.p95 === null ? Infinity : plan.percentiles_s.p95 / plan.nominal_s);

function about(run, plan) {
  return `<b>${escape(plan.experiment)}, run ${run.run}</b><br>${seconds(run.step_time_s)}, ${loss(run.step_time_s, plan)}; ${number(run.waiting_ranks)} ranks wait<br>${escape(run.drawn).replace(/; /g, '<br>')}`;
}

const base = (width, x) => ({
  grid: { left: 8, right: 24, top: width < 500 ? 56 : 34, bottom: 44, containLabel: true },
  legend: { top: 0, left: 0, textStyle: { color: color('ink'), fontSize: 12 } },
  xAxis: { type: 'value', scale: true, name: x, nameLocation: 'middle', nameGap: 26, ...axis_style() },
});

// Share of all runs that have ended after so many times the plan's nominal step; runs that never end are never reached.
function distribution(plans) {
  return chart('Share of the runs that end within a multiple of the nominal step', 360, (width) => ({
    ...base(width, 'step time over the nominal step'),
    tooltip: { ...tooltip_style(), formatter: ({ data }) => about(data.run, data.plan) },
    yAxis: { type: 'value', min: 0, max: 100, name: 'runs', ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: '{value} %' } },
    series: plans.map((plan, i) => ({
      name: plan.experiment,
      type: 'line',
      step: 'end',
      symbolSize: 6,
      lineStyle: { color: color(hues[i % hues.length]), width: 2 },
      itemStyle: { color: color(hues[i % hues.length]) },
      data: ended(plan).map((run, n) => ({ value: [run.step_time_s / plan.nominal_s, (100 * (n + 1)) / plan.runs.length], run, plan })),
    })),
  }));
}

function blast(plans) {
  return chart('Ranks that wait longer than usual, run by run', 360, (width) => ({
    ...base(width, 'step time over the nominal step'),
    tooltip: { ...tooltip_style(), formatter: ({ data }) => about(data.run, data.plan) },
    yAxis: { type: 'value', name: 'ranks that wait', ...axis_style() },
    series: plans.map((plan, i) => ({
      name: plan.experiment,
      type: 'scatter',
      symbolSize: 9,
      itemStyle: { color: color(hues[i % hues.length]), opacity: 0.7 },
      data: ended(plan).map((run) => ({ value: [run.step_time_s / plan.nominal_s, run.waiting_ranks], run, plan })),
    })),
  }));
}

export function stress_view(page, data) {
  const plans = data.experiments;
  const least = [...plans].sort((a, b) => suffering(a) - suffering(b))[0];
  const p95 = least.percentiles_s.p95;
  const title = plans.length > 1 ? `${least.experiment} suffers least` : p95 === null ? 'More than 5 % of the runs never end' : `95 % of the runs lose at most ${loss(p95, least)}`;
  const why = plans.length > 1
    ? `Its 95th percentile is ${p95 === null ? 'a run that never ends' : `${loss(p95, least)} from its nominal step`}.`
    : `Nominal ${seconds(least.nominal_s)}, median ${time(least.percentiles_s.p50)}, worst ${time(least.worst_s)}.`;
  page.append(element('header', { class: 'verdict' },
    element('p', { class: 'name' }, `${data.spec}: ${number(plans[0].runs.length)} runs, seed ${data.seed}`),
    element('h1', {}, title), element('p', { class: 'why' }, why)));
  const columns = [['plan', 'left'], ['nominal'], ['p5'], ['p50'], ['p90'], ['p95'], ['p99'], ['worst'], ['mean loss'], ['never end']];
  const percentiles = (p) => ['p5', 'p50', 'p90', 'p95', 'p99'].map((name) => time(p.percentiles_s[name]));
  page.append(
    section('How long steps take', 'Each dot is a run; at its height is the share of the runs that take no longer.',
      plans.some((p) => ended(p).length) && distribution(plans),
      table('Percentiles of the step time', columns, plans.map((p) => [p.experiment, seconds(p.nominal_s), ...percentiles(p), time(p.worst_s), loss(p.mean_s, p), number(p.never_end)]))),
    plans.some((p) => ended(p).length) && section('Who waits', 'Ranks that wait for others by more than 0.1 % of the step longer than without the scenario.', blast(plans)),
  );
  for (const plan of plans) {
    const runs = [...plan.runs.filter((r) => !r.ends), ...ended(plan).reverse()];
    page.append(section(plans.length > 1 ? `What hurts ${plan.experiment} most` : 'What hurts most', 'The longest first.',
      long_table(`Runs of ${plan.experiment}`, [['run'], ['step'], ['loss'], ['ranks wait'], ['most of it for'], ['drawn', 'left']],
        runs.map((r) => [number(r.run), r.ends ? seconds(r.step_time_s) : 'never ends', r.ends ? loss(r.step_time_s, plan) : '–', r.ends ? number(r.waiting_ranks) : '–',
          r.ends && r.most_waited_for_rank !== null ? `rank ${r.most_waited_for_rank}` : '–', r.ends ? r.drawn : `${r.drawn}: ${r.failure}`]), 12)));
  }
}
