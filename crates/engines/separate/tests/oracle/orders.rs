//! Permutations, and strict partial orders of few elements up to renaming.

use std::collections::BTreeSet;

/// Pairs, ascending; the earlier element has the smaller number.
pub(crate) type Order = Vec<(u8, u8)>;

/// All permutations of `0..size`; the identity comes first.
pub(crate) fn permutations(size: usize) -> Vec<Vec<u8>> {
    let mut all = vec![vec![]];
    for _ in 0..size {
        let extend = |it: &Vec<u8>| {
            let it = it.clone();
            let rest = (0..size as u8).filter(|next| !it.contains(next)).collect::<Vec<_>>();
            rest.into_iter().map(move |next| [&it[..], &[next]].concat())
        };
        all = all.iter().flat_map(extend).collect();
    }
    all
}

/// The order after renaming, if earlier elements still have the smaller numbers.
pub(crate) fn renamed(order: &[(u8, u8)], names: &[u8]) -> Option<Order> {
    let mut pairs: Order = order.iter().map(|it| (names[usize::from(it.0)], names[usize::from(it.1)])).collect();
    pairs.sort_unstable();
    pairs.iter().all(|it| it.0 < it.1).then_some(pairs)
}

/// One strict partial order of each shape.
pub(crate) fn order_classes(size: usize) -> Vec<Order> {
    // Every partial order has a numbering in which earlier elements have smaller numbers, so these are all.
    let pairs: Order = (0..size as u8).flat_map(|a| (a + 1..size as u8).map(move |b| (a, b))).collect();
    let chosen = |mask: u32| pairs.iter().enumerate().filter(move |it| mask >> it.0 & 1 == 1).map(|it| *it.1);
    let orders = (0..1u32 << pairs.len()).map(|mask| chosen(mask).collect::<Order>()).filter(is_transitive);
    let permutations = permutations(size);
    let least = |order: Order| permutations.iter().filter_map(|it| renamed(&order, it)).min().expect("the identity");
    orders.map(least).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The interval orders that contain an order: of two pairs, the first of one is before the second of the other.
pub(crate) fn interval_orders(size: usize, within: &Order) -> Vec<Order> {
    let pairs: Order =
        (0..size as u8).flat_map(|a| (0..size as u8).map(move |b| (a, b))).filter(|it| it.0 != it.1).collect();
    let free: Order = pairs.into_iter().filter(|it| !within.contains(it)).collect();
    let chosen = |mask: u32| free.iter().enumerate().filter(move |it| mask >> it.0 & 1 == 1).map(|it| *it.1);
    let mut orders: Vec<Order> =
        (0..1u32 << free.len()).map(|it| within.iter().copied().chain(chosen(it)).collect()).collect();
    for order in &mut orders {
        order.sort_unstable();
    }
    orders.retain(is_interval_order);
    orders
}

/// Transitivity is the case of two pairs that share an element; nothing is before itself.
fn is_interval_order(order: &Order) -> bool {
    let fits =
        |one: &(u8, u8), other: &(u8, u8)| order.contains(&(one.0, other.1)) || order.contains(&(other.0, one.1));
    order.iter().all(|one| one.0 != one.1 && order.iter().all(|other| fits(one, other))) && is_transitive(order)
}

/// The renamings that leave the order as it is.
pub(crate) fn automorphisms(size: usize, order: &Order) -> Vec<Vec<u8>> {
    permutations(size).into_iter().filter(|it| renamed(order, it).as_ref() == Some(order)).collect()
}

/// Is whatever shares an element comparable, so that each component is a chain?
pub(crate) fn is_union_of_chains(order: &[(u8, u8)]) -> bool {
    let comparable = |a: u8, b: u8| a == b || order.contains(&(a, b)) || order.contains(&(b, a));
    let fits = |one: &(u8, u8), other: &(u8, u8)| {
        (one.0 != other.0 || comparable(one.1, other.1)) && (one.1 != other.1 || comparable(one.0, other.0))
    };
    order.iter().all(|one| order.iter().all(|other| fits(one, other)))
}

fn is_transitive(order: &Order) -> bool {
    let goes_on = |one: &(u8, u8), next: &(u8, u8)| one.1 != next.0 || order.contains(&(one.0, next.1));
    order.iter().all(|one| order.iter().all(|next| goes_on(one, next)))
}
