"""What applies to what, as docs/inference.md has it and readings offer it."""

from __future__ import annotations

SHARES = ("wilson", "clopper-pearson", "jeffreys", "agresti-coull")
BOOTSTRAPS = ("percentile", "bca", "studentized")

APPLIES = {
    "proportion of rows": (*SHARES, "delta", *BOOTSTRAPS, "stratified"),
    "measure of counts": ("delta", *BOOTSTRAPS, "stratified"),
    "AUC, Gini": ("delong", "hanley", "delta", *BOOTSTRAPS, "stratified"),
    "PR-AUC, AP": ("logit", "delta", *BOOTSTRAPS, "stratified"),
    "measure of scores": ("delta", *BOOTSTRAPS, "stratified"),
    "mean of a value per row": ("t", "hall", "delta", *BOOTSTRAPS),
    "mean of a bounded value per row": (
        "t",
        "hall",
        "bayesian-bootstrap",
        "delta",
        *BOOTSTRAPS,
    ),
    "RMSE": ("chi-square", "hall", "delta", *BOOTSTRAPS),
    "R2, Pearson, CCC": ("delta", "percentile", "bca"),
    "Spearman": ("delta", "percentile", "bca"),
    "MedAE": ("woodruff", "percentile"),
    "proportion of topics": (*SHARES, "t", *BOOTSTRAPS, "bayesian-bootstrap"),
    "mean over topics": ("t", *BOOTSTRAPS, "bayesian-bootstrap"),
    "topics pooled": ("t", *BOOTSTRAPS, "bayesian-bootstrap"),
    "difference": ("t", "delong", "delta", *BOOTSTRAPS, "bayesian-bootstrap", "stratified"),
}
