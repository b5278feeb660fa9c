// Which store an id is of: the store's identity in the few bytes that every id carries, and the one place where
// those of two stores are compared.

private import CipherSQLite
internal import Foundation

/// The store that an ``ObjectID`` is of, as far as that is known.
struct StoreMark: Sendable, Hashable {
  /// 0 where it is not known.
  private let word: UInt64

  /// Of a number that was kept, and of a store without an identity.
  static let unknown = StoreMark(nil)

  /// - Parameter id: The store's ``Store/id``. Two stores have one mark by chance once in 2^64 pairs.
  init(_ id: UUID?) {
    guard let bytes = id?.uuid else {
      word = 0
      return
    }
    let all = [
      bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7, bytes.8, bytes.9, bytes.10,
      bytes.11, bytes.12, bytes.13, bytes.14, bytes.15,
    ]
    let (high, low) = (all[..<8], all[8...])
    let sum = zip(high, low).reduce(into: UInt64(0)) { $0 = $0 << 8 | UInt64($1.0 ^ $1.1) }
    word = max(1, sum)
  }

  /// Whether an id with the other mark may be looked for in this store.
  func admits(_ other: StoreMark) -> Bool { word == 0 || other.word == 0 || word == other.word }

  /// The row of an id in this store.
  ///
  /// Every look-up by an id goes through here, and every constant of a predicate through ``check(_:)``.
  /// - Throws: ``StoreError/idOfAnotherStore(entity:rowID:)``.
  func row<Object>(of id: ObjectID<Object>) throws -> Int64 {
    guard admits(id.store) else {
      throw StoreError.idOfAnotherStore(entity: "\(Object.self)", rowID: id.rowID)
    }
    return id.rowID
  }

  /// - Throws: ``StoreError/predicate(_:)`` when a constant of the request is an id of another store.
  func check(_ request: FetchParameters, on entity: EntityRuntime) throws {
    guard word != 0 else { return }
    for condition in request.conditions {
      guard let value = condition.firstValue(where: { !admits($0.store) }),
        case .integer(let id) = value.stored
      else { continue }
      let error = PredicateError(
        "\(value.entity ?? "") \(id) is an id of another store; fetch the object in this one and compare with that",
        entity: entity.name, place: value.place)
      throw StoreError.predicate(condition.format.map { error.located(in: $0) } ?? error)
    }
  }
}

extension FetchCondition {
  /// The first constant for which `test` holds. Those of a template are of the first predicate of its shape.
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    template == nil ? node.firstValue(where: test) : values.first(where: test)
  }
}

extension PredicateNode {
  /// Without recursion: the tree may be as deep as memory allows.
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    var nodes = [self]
    while let node = nodes.popLast() {
      let operands: [PredicateOperand]
      switch node {
      case .constant: continue
      case .and(let parts), .or(let parts):
        nodes += parts
        continue
      case .not(let inner), .quantified(_, _, let inner):
        nodes.append(inner)
        continue
      case .truth(let operand): operands = [operand]
      case .comparison(let left, _, let right, _): operands = [left, right]
      case .between(let operand, let low, let high): operands = [operand, low, high]
      case .isIn(let operand, let list, _):
        if let found = operand.firstValue(where: test) { return found }
        operands = list
      }
      for operand in operands { if let found = operand.firstValue(where: test) { return found } }
    }
    return nil
  }
}

extension PredicateOperand {
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    if case .value(let value) = self { return test(value) ? value : nil }
    var operands = [self]
    while let operand = operands.popLast() {
      switch operand {
      case .value(let value): if test(value) { return value }
      case .path, .count: break
      case .arithmetic(let left, _, let right), .coalesce(let left, let right): operands += [right, left]
      }
    }
    return nil
  }
}
