// The errors of regular expressions.

extension StoreError {
  /// Creates the error of a regular expression that gave no result.
  init(_ failure: MatchPattern.Failure) {
    switch failure {
    case .invalidPattern:
      self = .predicate(
        PredicateError(
          "the right side of MATCHES is not a regular expression; its syntax is that of NSRegularExpression"))
    case .tooSlow(let limit): self = .matchTooSlow(seconds: limit)
    case .tooLarge:
      self = .predicate(
        PredicateError(
          "the regular expression of MATCHES needs too much memory for one of the texts; write it without a group "
            + "that repeats for each character, such as (a|b)*"))
    }
  }
}
