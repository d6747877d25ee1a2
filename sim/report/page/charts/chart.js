// A chart in the page: redrawn when the theme or its width changes; labelled for those who do not see it.
import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { element } from '../dom.js';
import { color, on_theme } from '../theme.js';

echarts.use([AriaComponent, BarChart, CanvasRenderer, CustomChart, DataZoomComponent, GridComponent, LegendComponent, LineChart,
  MarkLineComponent, ScatterChart, TooltipComponent]);
export { echarts };

export const axis_style = () => ({
  axisLine: { lineStyle: { color: color('faint') } },
  axisTick: { lineStyle: { color: color('faint') } },
  axisLabel: { color: color('quiet'), fontSize: 12 },
  nameTextStyle: { color: color('quiet') },
  splitLine: { lineStyle: { color: color('line') } },
});

export const tooltip_style = () => ({
  backgroundColor: color('raised'),
  borderColor: color('line'),
  textStyle: { color: color('ink'), fontSize: 13 },
  confine: true,
});

// `option(width)` gives the chart's option for a width in pixels. Returns its element; `ready(chart)` is called once.
export function chart(label, height, option, ready) {
  const box = element('div', { class: 'chart', role: 'img', 'aria-label': label, style: `height:${height}px` });
  let drawn;
  let width = 0;
  const draw = () => {
    drawn.setOption({ animation: false, textStyle: { fontFamily: 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif', color: color('ink') }, ...option(width) }, { replaceMerge: ['series'] });
  };
  const forget = on_theme(() => drawn && draw());
  const observer = new ResizeObserver(([entry]) => {
    if (!box.isConnected) {
      observer.disconnect();
      forget();
      drawn?.dispose();
      return;
    }
    const now = Math.round(entry.contentRect.width);
    if (now === 0 || (now === width && drawn)) return;
    width = now;
    if (drawn) {
      drawn.resize();
      draw();
      return;
    }
    drawn = echarts.init(box, null, { renderer: 'canvas' });
    draw();
    ready?.(drawn, box);
  });
  observer.observe(box);
  return box;
}
