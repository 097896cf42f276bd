"""The report of one run or host: `series` and `timeline` make the data of its charts, `findings` says what stands out,
`tiles` and `costs` have its figures, and `page` puts it together."""
