//! A list beside a vector, a queue beside a deque.

use super::{List, Queue};
use std::rc::Rc;

/// A list and a vector to which the same is done.
#[test]
fn does_what_a_vector_does() {
    let (mut list, mut model) = (List::new(), vec![]);
    for round in 0..if cfg!(miri) { 20 } else { 300u64 } {
        for number in 0..round * 7 % 50 {
            list.push(number);
            model.push(number);
        }
        match round % 8 {
            0 => assert!(list.drain(..list.len() / 2).eq(model.drain(..model.len() / 2))),
            1 => _ = list.drain(list.len() / 3..),
            2 => assert!(list.split_off(list.len() / 2).iter().eq(&model.split_off(model.len() / 2))),
            3 => (list.insert(round as usize % 3, round), model.insert(round as usize % 3, round)).0,
            4 => assert_eq!(list.remove(1), model.remove(1)),
            5 => assert_eq!(list.swap_remove(0), model.swap_remove(0)),
            6 => (list.retain(|number| number % 3 != 0), model.retain(|number| number % 3 != 0)).0,
            _ => {
                let mut more: List<u64> = (0..round).collect();
                list.append(&mut more);
                assert!(more.is_empty());
                model.extend(0..round);
            }
        }
        if round % 8 == 1 {
            model.truncate(model.len() / 3);
        }
        assert_eq!(list[..], model[..], "round {round}");
        assert_eq!(list.pop(), model.pop());
    }
    assert!(list.clone().into_iter().eq(model));
}

#[test]
fn a_queue_gives_out_in_the_order_of_arrival() {
    let (mut queue, mut model) = (Queue::default(), std::collections::VecDeque::new());
    for round in 0..if cfg!(miri) { 20 } else { 300 } {
        for number in 0..round * 5 % 23 {
            queue.push_back(number);
            model.push_back(number);
        }
        for _ in 0..round * 3 % 17 {
            assert_eq!(queue.pop_front(), model.pop_front());
        }
        assert!(queue.iter().eq(&model), "round {round}");
        assert_eq!(queue.is_empty(), model.is_empty());
    }
    assert!(queue.into_iter().eq(model));
}

#[test]
fn what_it_holds_is_dropped_once() {
    let counted = Rc::new(());
    let mut list: List<Rc<()>> = std::iter::repeat_n(counted.clone(), 10).collect();
    list.truncate(8);
    drop(list.pop());
    drop(list.split_off(5));
    assert_eq!(Rc::strong_count(&counted), 6);
    let mut left = list.into_iter();
    drop(left.next());
    assert_eq!(Rc::strong_count(&counted), 5);
    drop(left);
    assert_eq!(Rc::strong_count(&counted), 1);
}

#[test]
fn a_request_beyond_all_memory_is_refused_and_changes_nothing() {
    let mut list: List<u64> = (0..5).collect();
    for more in [usize::MAX, usize::MAX / 8, usize::MAX / 16] {
        assert!(!list.try_reserve(more));
    }
    assert_eq!(list[..], [0, 1, 2, 3, 4]);
}
