//! The arrows that are drawn already, by where they run.
//!
//! A picture has few arrows but many candidates for the next one, and each asks at every point who is near. A grid whose
//! cells are as wide as "near" answers from nine cells.

use super::geometry::Point;

/// Nearer than this, two arrows are taken for one.
const NEAR: f64 = 9.0;
/// Points further out share the cells at the rim.
const MAX_CELLS: usize = 1_000;

/// Points of arrows in a grid.
pub(super) struct Crowd<'a> {
    arrows: &'a [&'a [Point]],
    columns: usize,
    rows: usize,
    origin: Point,
    /// The points of cell `i` stand from `starts[i]` to `starts[i + 1]`, each with its arrow.
    starts: Vec<u32>,
    points: Vec<(u32, Point)>,
}

impl<'a> Crowd<'a> {
    pub(super) fn new(arrows: &'a [&'a [Point]]) -> Self {
        let all = || arrows.iter().flat_map(|it| it.iter());
        let least = |of: fn(&Point) -> f64| all().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&Point) -> f64| all().map(of).fold(f64::NEG_INFINITY, f64::max);
        let n_cells = |from: f64, to: f64| ((((to - from) / NEAR).max(0.0)) as usize + 1).min(MAX_CELLS);
        let origin = Point::new(least(|it| it.x), least(|it| it.y));
        let mut crowd = Self {
            arrows,
            columns: n_cells(origin.x, most(|it| it.x)),
            rows: n_cells(origin.y, most(|it| it.y)),
            origin,
            starts: Vec::new(),
            points: Vec::new(),
        };
        crowd.fill();
        crowd
    }

    fn fill(&mut self) {
        let mut placed: Vec<(usize, u32, Point)> = Vec::new();
        for (arrow, points) in self.arrows.iter().enumerate() {
            placed.extend(points.iter().map(|it| (self.cell(*it), arrow as u32, *it)));
        }
        placed.sort_by_key(|it| it.0);
        self.points = placed.iter().map(|it| (it.1, it.2)).collect();
        self.starts = vec![0; self.columns * self.rows + 1];
        for (cell, _, _) in placed {
            self.starts[cell + 1] += 1;
        }
        for idx in 1..self.starts.len() {
            self.starts[idx] += self.starts[idx - 1];
        }
    }

    pub(super) fn arrows(&self) -> &[&'a [Point]] {
        self.arrows
    }

    /// How many arrows pass near a point.
    pub(super) fn n_near(&self, point: Point) -> usize {
        let (column, row) = self.place(point);
        // The same arrow is near with several points; few arrows are near at all.
        let mut seen: Vec<u32> = Vec::new();
        for row in row.saturating_sub(1)..(row + 2).min(self.rows) {
            let first = row * self.columns + column.saturating_sub(1);
            let last = row * self.columns + (column + 1).min(self.columns - 1);
            let cells = self.starts[first] as usize..self.starts[last + 1] as usize;
            for (arrow, other) in &self.points[cells] {
                if other.is_near(point, NEAR) && !seen.contains(arrow) {
                    seen.push(*arrow);
                }
            }
        }
        seen.len()
    }

    fn cell(&self, point: Point) -> usize {
        let (column, row) = self.place(point);
        row * self.columns + column
    }

    /// The column and row of a point; points outside belong to the rim.
    fn place(&self, point: Point) -> (usize, usize) {
        let nth = |at: f64, from: f64, n: usize| (((at - from) / NEAR).max(0.0) as usize).min(n - 1);
        (nth(point.x, self.origin.x, self.columns), nth(point.y, self.origin.y, self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_near_is_found_wherever_cells_end() {
        let line = |y: f64| (0..40).map(|it| Point::new(f64::from(it) * 6.0, y)).collect::<Vec<_>>();
        let (one, two) = (line(0.0), line(14.0));
        let arrows: [&[Point]; 2] = [&one, &two];
        let crowd = Crowd::new(&arrows);
        for x in -20..260 {
            for y in -20..40 {
                let point = Point::new(f64::from(x), f64::from(y));
                let plainly = arrows.iter().filter(|it| it.iter().any(|it| it.is_near(point, NEAR))).count();
                assert_eq!(crowd.n_near(point), plainly, "{point:?}");
            }
        }
        assert_eq!(Crowd::new(&[]).n_near(Point::new(1.0, 1.0)), 0);
    }
}
