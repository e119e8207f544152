//! Points, rectangles and curves, with the arithmetic that a picture needs.

/// A point; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Point {
    pub(crate) fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    pub(crate) fn plus(self, other: Self, factor: f64) -> Self {
        Self::new(self.x + other.x * factor, self.y + other.y * factor)
    }

    pub(crate) fn towards(self, other: Self, share: f64) -> Self {
        Self::new(self.x + (other.x - self.x) * share, self.y + (other.y - self.y) * share)
    }

    /// Is the other one within a circle of this radius? Cheap for those that are far off.
    pub(crate) fn is_near(self, other: Self, radius: f64) -> bool {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        dx.abs() < radius && dy.abs() < radius && dx * dx + dy * dy < radius * radius
    }

    pub(crate) fn distance(self, other: Self) -> f64 {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        (dx * dx + dy * dy).sqrt()
    }
}

/// A rectangle with its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self { x, y, width, height }
    }

    pub(crate) fn around(center: Point, width: f64, height: f64) -> Self {
        Self::new(center.x - width / 2.0, center.y - height / 2.0, width, height)
    }

    pub(crate) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn grown(self, by: f64) -> Self {
        Self::new(self.x - by, self.y - by, self.width + 2.0 * by, self.height + 2.0 * by)
    }

    pub(crate) fn contains(self, point: Point) -> bool {
        point.x > self.x && point.x < self.right() && point.y > self.y && point.y < self.bottom()
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }
}

/// A piece of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Piece {
    Line(Point),
    /// Two control points and the end.
    Curve(Point, Point, Point),
}

/// A path from a point through pieces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) start: Point,
    pub(crate) pieces: Vec<Piece>,
}

impl Path {
    /// A polyline with round corners.
    pub(crate) fn rounded(points: &[Point], radius: f64) -> Self {
        let mut pieces = Vec::new();
        for corner in points.windows(3) {
            let room = |a: Point, b: Point| radius.min(a.distance(b) / 2.0);
            let share = |from: Point, to: Point| {
                if from.distance(to) > 0.0 { room(from, to) / from.distance(to) } else { 0.0 }
            };
            let enter = corner[1].towards(corner[0], share(corner[1], corner[0]));
            let leave = corner[1].towards(corner[2], share(corner[1], corner[2]));
            pieces.push(Piece::Line(enter));
            pieces.push(Piece::Curve(enter.towards(corner[1], 0.55), leave.towards(corner[1], 0.55), leave));
        }
        pieces.push(Piece::Line(points[points.len() - 1]));
        Self { start: points[0], pieces }
    }

    /// Points along the path, about `spacing` apart, both ends included.
    pub(crate) fn sampled(&self, spacing: f64) -> Vec<Point> {
        let mut samples = vec![self.start];
        let mut at = self.start;
        for piece in &self.pieces {
            let (length, end) = match *piece {
                Piece::Line(end) => (at.distance(end), end),
                Piece::Curve(one, two, end) => (at.distance(one) + one.distance(two) + two.distance(end), end),
            };
            let n_steps = (length / spacing).ceil().clamp(1.0, 400.0) as u32;
            samples.extend((1..=n_steps).map(|it| piece.at(at, f64::from(it) / f64::from(n_steps))));
            at = end;
        }
        samples
    }
}

impl Piece {
    fn at(self, start: Point, share: f64) -> Point {
        match self {
            Self::Line(end) => start.towards(end, share),
            Self::Curve(one, two, end) => {
                let (a, b, c) = (start.towards(one, share), one.towards(two, share), two.towards(end, share));
                a.towards(b, share).towards(b.towards(c, share), share)
            }
        }
    }
}

/// The length of a polyline.
pub(crate) fn length(samples: &[Point]) -> f64 {
    samples.windows(2).map(|it| it[0].distance(it[1])).sum()
}
